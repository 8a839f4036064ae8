//! Who plays what: an example's resources, dealt out to clusters.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use mcwan_core::api::{ExportedService, ExportedServiceSpec};
use mcwan_core::snapshot::{Key, Snapshot};
use serde_json::{Value, json};

use crate::kubelet::ECHO_IMAGE;
use crate::wan::member;

/// The cluster that exports.
pub(super) const EXPORTER: u8 = 1;

/// The port of the pods behind an exported Service's first port; the others have the next ones.
const FIRST_POD_PORT: i32 = 9_080;

/// The annotation of an export that names its default tier.
const TIER_ANNOTATION: &str = "mc-wan.l7mp.io/wan-policy";

/// Manifests of clusters, and what is known of what they mean.
#[derive(Debug)]
pub(super) struct Cast {
    /// For every cluster: the namespaces and the tiers.
    pub(super) everywhere: String,
    /// For the one that exports.
    pub(super) exporter: String,
    /// For the one that imports.
    pub(super) importer: String,
    /// The tiers, by their ports.
    pub(super) tiers: BTreeMap<u16, String>,
    /// The exported services.
    pub(super) foreign: BTreeSet<Key>,
    /// The Services of the importing cluster.
    pub(super) services: BTreeSet<Key>,
}

impl Cast {
    pub(super) fn new(snapshot: &Snapshot) -> Result<Self> {
        let exports: Vec<_> = snapshot.exported_services.iter().collect();
        for export in &exports {
            let (cluster, exporter) = (&export.spec.cluster, member::id(EXPORTER));
            ensure!(*cluster == exporter, "{cluster} exports {}, not {exporter}", export.name_any());
        }
        let tiers: BTreeMap<_, _> =
            snapshot.wan_policies.iter().map(|tier| (tier.spec.port.get(), tier.name_any())).collect();
        let foreign: BTreeSet<_> =
            exports.iter().map(|export| Key::new(&*export.spec.namespace, &*export.spec.name)).collect();
        let services: BTreeSet<_> = snapshot.services.iter().map(|service| Key::of(&service.metadata)).collect();
        let imports = snapshot.service_imports.iter().map(|import| Key::of(&import.metadata));
        let namespaces: BTreeSet<_> =
            foreign.iter().cloned().chain(services.iter().cloned()).chain(imports).map(|key| key.namespace).collect();

        let namespaces = namespaces.iter().map(|name| mk("v1", "Namespace", "", name, &json!({})));
        let policies = snapshot.wan_policies.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        let everywhere = namespaces.chain(policies).collect::<Vec<_>>();
        let exporter = exports.into_iter().flat_map(exported_objects).collect::<Vec<_>>();
        let mut importer = snapshot.services.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        importer.extend(snapshot.services.iter().map(|service| pods_of(service, 1)));
        for import in snapshot.service_imports.iter() {
            let mut import = serde_json::to_value(import)?;
            // It is the controller's.
            import.as_object_mut().and_then(|fields| fields.remove("status"));
            importer.push(import);
        }
        for route in snapshot.routes.iter() {
            let info = route.kind.info();
            importer.push(mk(&info.api_version(), info.name, "", "", &serde_json::to_value(route)?));
        }
        let [everywhere, exporter, importer] = [everywhere, exporter, importer].map(|objects| file(&objects));
        Ok(Self { everywhere, exporter, importer, tiers, foreign, services })
    }
}

/// A Service as it is exported, its pods, and its export.
fn exported_objects(export: &ExportedService) -> [Value; 3] {
    let ExportedServiceSpec { namespace, name, ports, default_tier, ready_pods, .. } = &export.spec;
    let ports = (FIRST_POD_PORT..).zip(ports).map(|(target, port)| {
        json!({"name": port.name, "port": port.port, "protocol": port.protocol, "appProtocol": port.app_protocol,
            "targetPort": target})
    });
    let spec = json!({"selector": {"app": name}, "ports": ports.collect::<Vec<_>>()});
    let service = mk("v1", "Service", namespace, name, &json!({"spec": spec}));
    let mut annotations = json!({});
    if let Some(tier) = default_tier {
        annotations[TIER_ANNOTATION] = tier.as_str().into();
    }
    let mut exported = mk("multicluster.x-k8s.io/v1beta1", "ServiceExport", namespace, name, &json!({}));
    exported["metadata"]["annotations"] = annotations;
    let targets: Vec<_> =
        spec["ports"].as_array().into_iter().flatten().map(|port| port["targetPort"].clone()).collect();
    [service, pods(namespace, name, &json!({"app": name}), &targets, *ready_pods), exported]
}

/// The pods behind a Service, which echo.
fn pods_of(service: &Service, replicas: u32) -> Value {
    let spec = service.spec.clone().unwrap_or_default();
    let target = |port: &ServicePort| match &port.target_port {
        Some(IntOrString::Int(target)) => json!(target),
        Some(IntOrString::String(_)) | None => json!(port.port),
    };
    let targets: Vec<_> = spec.ports.iter().flatten().map(target).collect();
    pods(&service.namespace().unwrap_or_default(), &service.name_any(), &json!(spec.selector), &targets, replicas)
}

fn pods(namespace: &str, name: &str, labels: &Value, ports: &[Value], replicas: u32) -> Value {
    let ports: Vec<_> = ports.iter().map(|port| json!({"containerPort": port})).collect();
    let container = json!({"name": "echo", "image": ECHO_IMAGE, "ports": ports});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let spec = json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template});
    mk("apps/v1", "Deployment", namespace, name, &json!({"spec": spec}))
}

/// An object; an empty namespace: it has none.
fn mk(version: &str, kind: &str, namespace: &str, name: &str, content: &Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    for (field, value) in content.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object
}

fn file(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

#[cfg(test)]
mod tests {
    use mcwan::files;

    use super::*;
    use crate::example::Example;

    #[test]
    fn every_example_can_be_dealt_out() {
        for name in Example::names().unwrap() {
            let example = Example::load(&name).unwrap();
            let cast = Cast::new(&files::from_paths(&[&example.manifests]).snapshot).unwrap();
            assert_eq!(cast.foreign.iter().map(ToString::to_string).collect::<Vec<_>>(), ["secure/payment"], "{name}");
            assert!(cast.exporter.contains(r#""replicas":3"#), "{name}: {}", cast.exporter);
            assert!(cast.importer.contains(r#""kind":"ServiceImport""#), "{name}: {}", cast.importer);
            assert!(!cast.importer.contains("10.30.0.21"), "{name}: addresses are the pods'");
        }
    }
}
