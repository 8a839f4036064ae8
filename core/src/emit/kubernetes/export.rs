//! What one export consists of: how requests get from the ingress gateway to the Service, and what the registry is
//! told.

use mcwan_policy::{PORT_HEADER, canonical_host, clusterset_host};
use serde_json::{Value, json};

use crate::api::{ExportedPort, ExportedServiceSpec, REGISTRY_NAMESPACE};
use crate::emit::object::{Kind, Object};
use crate::kind;
use crate::translate::LocalExport;

use super::draft::Draft;
use super::{Settings, names, route};

/// The objects of an export; none where it is not one that other clusters can have.
pub fn export_objects(export: &LocalExport, settings: &Settings) -> Vec<Object> {
    if !export.is_exported() {
        return Vec::new();
    }
    let mut objects = routes(export);
    objects.extend(published_object(export, settings));
    objects
}

/// Routes for the two hosts that the importing clusters call the Service by.
fn routes(export: &LocalExport) -> Vec<Object> {
    let (namespace, name) = (&*export.key.namespace, &*export.key.name);
    let host = canonical_host(namespace, name);
    let http = export.ports.iter().filter(|port| port.is_http());
    let rules = http.map(|port| rule(name, namespace, &host, port)).collect();
    let route = |(number, rules): (usize, Vec<Value>)| {
        let draft = Draft::new(Kind::HttpRoute, namespace, names::export_route(name, number))
            .of_export(namespace, name)
            .owned_by(export.owner.as_ref());
        draft.with_spec(json!({
            "parentRefs": [kind::GATEWAY.reference(names::INGRESS_GATEWAY)],
            "hostnames": [host, clusterset_host(namespace, name)],
            "rules": rules,
        }))
    };
    route::pack(rules).into_iter().enumerate().map(route).collect()
}

/// Requests for one port of the Service, as the egress gateway of another cluster says.
fn rule(name: &str, namespace: &str, host: &str, port: &ExportedPort) -> Value {
    json!({
        "matches": [{
            "path": {"type": "PathPrefix", "value": "/"},
            "headers": [{"type": "Exact", "name": PORT_HEADER, "value": port.port.to_string()}],
        }],
        "filters": [
            {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": [PORT_HEADER]}},
            {"type": "URLRewrite", "urlRewrite": {"hostname": host}},
        ],
        "backendRefs": [{
            "group": "",
            "kind": "Service",
            "name": name,
            "namespace": namespace,
            "port": port.port,
            "weight": 1,
        }],
    })
}

/// What the registry is told of an export; none where other clusters cannot have it, or it is not said which cluster this is.
pub fn published_object(export: &LocalExport, settings: &Settings) -> Option<Object> {
    let cluster = settings.cluster.as_deref().filter(|_| export.is_exported())?;
    let (namespace, name) = (&*export.key.namespace, &*export.key.name);
    let spec = ExportedServiceSpec {
        cluster: cluster.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        exported_at: export.exported_at.clone(),
        ports: export.ports.clone(),
        properties: export.properties.clone(),
        default_tier: export.default_tier.clone(),
        gateways: export.gateways.clone(),
        ready_pods: export.ready_pods,
    };
    let draft =
        Draft::new(Kind::ExportedService, REGISTRY_NAMESPACE, names::exported_service(cluster, namespace, name))
            .of_cluster(cluster)
            .of_export(namespace, name)
            .owned_by(settings.wan_cluster.as_ref());
    Some(draft.with_spec(json!(spec)))
}
