//! What users and other clusters write, as objects.

use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateway_pods::{ADMITTED_CONDITION, GATEWAY_LABEL};
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use crate::gateway::{Gate, Pod, Stage};
use crate::replica::{CLUSTER, clock};
use crate::script::{
    Backend, CLUSTERS, ExportWish, Extra, HOSTS, ImportWish, PATHS, POLICIES, PORTS, PolicyWish, ROUTED_HOST, SECRETS,
    SERVICES, Side, Size, TIERS,
};

const GROUP: &str = "mc-wan.l7mp.io";
const REGISTRY: &str = "mc-wan-registry";

/// An object that somebody else than us writes.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) kind: Watched,
    pub(crate) key: Key,
    pub(crate) body: Value,
}

impl Input {
    pub(crate) fn new(kind: Watched, namespace: &str, name: &str, mut body: Value) -> Self {
        let (api_version, kind_name) = match kind {
            Watched::Emitted(emitted) => (emitted.api_version(), emitted.name().to_owned()),
            Watched::Namespace | Watched::Pod => ("v1".to_owned(), kind.name().to_owned()),
            Watched::Lease => ("coordination.k8s.io/v1".to_owned(), kind.name().to_owned()),
            Watched::GrpcRoute => ("gateway.networking.k8s.io/v1".to_owned(), kind.name().to_owned()),
            Watched::OpenshiftRoute => ("route.openshift.io/v1".to_owned(), kind.name().to_owned()),
            Watched::ServiceExport => ("multicluster.x-k8s.io/v1alpha1".to_owned(), kind.name().to_owned()),
            _ => (format!("{GROUP}/v1alpha1"), kind.name().to_owned()),
        };
        body["apiVersion"] = api_version.into();
        body["kind"] = kind_name.into();
        body["metadata"]["name"] = name.into();
        if !namespace.is_empty() {
            body["metadata"]["namespace"] = namespace.into();
        }
        Self { kind, key: Key::new(namespace, name), body }
    }
}

pub(crate) fn namespace(name: &str) -> Input {
    Input::new(Watched::Namespace, "", name, json!({}))
}

pub(crate) fn tier(tier: usize, port: u16) -> Input {
    Input::new(Watched::WanPolicy, "", TIERS[tier], json!({"spec": {"port": port}}))
}

pub(crate) fn cluster(cluster: usize, mut labels: Value, spec: &Value) -> Input {
    labels["mc-wan.l7mp.io/cluster"] = CLUSTERS[cluster].into();
    let body = json!({"metadata": {"labels": labels}, "spec": spec});
    Input::new(Watched::Emitted(Kind::WanCluster), REGISTRY, CLUSTERS[cluster], body)
}

/// What a policy is called.
pub(crate) fn policy_key(place: usize) -> Key {
    Key::new(REGISTRY, POLICIES[place])
}

pub(crate) fn policy(place: usize, wish: &PolicyWish) -> Input {
    let selector = |side: &Side| match side {
        Side::Any => Value::Null,
        Side::Region(region) => json!({"matchLabels": {"region": region}}),
        Side::Own => json!({"matchLabels": {"kubernetes.io/metadata.name": CLUSTER}}),
    };
    let tiers = wish.tiers.as_ref().map(|tiers| tiers.iter().map(|tier| TIERS[*tier]).collect::<Vec<_>>());
    let key = policy_key(place);
    let spec = if place == 0 {
        json!({"tiers": tiers, "noConnectOnConflict": wish.is_strict})
    } else {
        let [left, right] = &wish.sides;
        json!({"tiers": tiers, "leftClusterSelector": selector(left), "rightClusterSelector": selector(right)})
    };
    Input::new(Watched::ConnectionPolicy, REGISTRY, &key.name, json!({"spec": spec}))
}

pub(crate) fn export(cluster: usize, service: usize, wish: &ExportWish) -> Input {
    let (namespace, name) = SERVICES[service];
    let cluster_name = CLUSTERS[cluster];
    let ports: Vec<_> = wish.ports.iter().map(|port| json!({"port": port})).collect();
    let spec = json!({
        "cluster": cluster_name, "namespace": namespace, "name": name, "exportedAt": format!("2026-11-2{cluster}T08:00:00Z"),
        "ports": ports, "defaultTier": wish.default_tier.map(|tier| TIERS[tier]),
        "gateways": [format!("10.{}.0.{}", cluster + 1, wish.pods)], "readyPods": wish.pods,
        "properties": {"type": if wish.is_headless { "Headless" } else { "ClusterSetIP" }},
    });
    let body = json!({"metadata": {"labels": {"mc-wan.l7mp.io/cluster": cluster_name}}, "spec": spec});
    let key = export_key(cluster, service);
    Input::new(Watched::Emitted(Kind::ExportedService), REGISTRY, &key.name, body)
}

pub(crate) fn export_key(cluster: usize, service: usize) -> Key {
    let (namespace, name) = SERVICES[service];
    Key::new(REGISTRY, format!("{}.{namespace}.{name}", CLUSTERS[cluster]))
}

pub(crate) fn import(service: usize, wish: &ImportWish) -> Input {
    let (namespace, name) = SERVICES[service];
    let hosts: Vec<_> = wish.hosts.iter().map(|host| HOSTS[*host]).collect();
    // Each of these has 60 kilobytes, and the filter has room for 1,024.
    let count = match wish.size {
        Size::Little => 0,
        Size::MoreThanHalf => 9,
        Size::TooMuch => 18,
    };
    let more = (0..count).map(|number| {
        let header = |place| json!({"name": format!("x-{number}-{place}"), "value": "x".repeat(4_000)});
        let headers: Vec<_> = (0..15).map(header).collect();
        let backend = json!({"group": GROUP, "kind": "WANPolicy", "name": TIERS[0]});
        json!({"matches": [{"headers": headers}], "backendRefs": [backend]})
    });
    let rules: Vec<_> = rules(wish).chain(more).collect();
    let data_plane = if wish.is_native { "Native" } else { "Wasm" };
    let spec = json!({"hostnames": hosts, "dataPlane": data_plane, "http": {"rules": rules}});
    Input::new(Watched::ServiceImport, namespace, name, json!({"spec": spec}))
}

pub(crate) fn route(service: usize, wish: &ImportWish, port: Option<u16>) -> Input {
    let (_, name) = SERVICES[service];
    let mut parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": name});
    if let Some(port) = port {
        parent["port"] = port.into();
    }
    let Key { namespace, name } = route_key(service);
    let spec = json!({"parentRefs": [parent], "rules": rules(wish).collect::<Vec<_>>()});
    Input::new(Watched::Emitted(Kind::HttpRoute), &namespace, &name, json!({"spec": spec}))
}

/// A `GRPCRoute` below the first import: calls of a service in place of a path, and all calls in place of all paths.
pub(crate) fn calls(wish: &ImportWish) -> Input {
    let (namespace, name) = SERVICES[0];
    let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": name});
    let rules = rules(wish).zip(&wish.rules).map(|(mut rule, (path, ..))| {
        let service = PATHS[*path].trim_start_matches('/');
        let of_service = json!([{"method": {"service": service}}]);
        rule["matches"] = if service.is_empty() { json!([]) } else { of_service };
        rule
    });
    let spec = json!({"parentRefs": [parent], "rules": rules.collect::<Vec<_>>()});
    Input::new(Watched::GrpcRoute, namespace, "calls", json!({"spec": spec}))
}

pub(crate) fn route_key(service: usize) -> Key {
    let (namespace, name) = SERVICES[service];
    Key::new(namespace, format!("users-{name}"))
}

fn rules(wish: &ImportWish) -> impl Iterator<Item = Value> {
    wish.rules.iter().map(|(path, backends, extra)| {
        let backends: Vec<_> = backends
            .iter()
            .map(|(backend, weight)| match backend {
                Backend::Tier(tier) => {
                    json!({"group": GROUP, "kind": "WANPolicy", "name": TIERS[*tier], "weight": weight})
                }
                Backend::Local => json!({"name": "local", "weight": weight}),
                Backend::Granted => json!({"name": "granted", "namespace": "b", "weight": weight}),
            })
            .collect();
        let mut rule =
            json!({"matches": [{"path": {"type": "PathPrefix", "value": PATHS[*path]}}], "backendRefs": backends});
        match extra {
            Extra::Nothing => {}
            Extra::Timeout(seconds) => rule["timeouts"] = json!({"request": format!("{seconds}s")}),
            Extra::Fallback(tier) => rule["sla"] = json!({"fallbacks": [TIERS[*tier]]}),
            Extra::Header(number) => {
                rule["filters"] = json!([{"type": "RequestHeaderModifier",
                    "requestHeaderModifier": {"set": [{"name": "x-number", "value": number.to_string()}]}}]);
            }
        }
        rule
    })
}

/// The Lease of a cluster that was alive then.
pub(crate) fn lease(cluster: &str, then: Moment) -> Input {
    let renewal = format!("{:?}", then.since_start());
    let spec = json!({"holderIdentity": cluster, "leaseDurationSeconds": 30, "renewTime": renewal});
    Input::new(Watched::Lease, REGISTRY, cluster, json!({"spec": spec}))
}

pub(crate) fn service(namespace: &str, name: &str, ports: &[u16]) -> Input {
    let ports: Vec<_> =
        ports.iter().map(|port| json!({"name": format!("p{port}"), "port": port, "protocol": "TCP"})).collect();
    Input::new(Watched::Emitted(Kind::Service), namespace, name, json!({"spec": {"ports": ports}}))
}

pub(crate) fn slice(namespace: &str, name: &str) -> Input {
    let body = json!({
        "metadata": {"labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.7.0.1"], "conditions": {"ready": true}}],
        "ports": PORTS.map(|port| json!({"name": format!("p{port}"), "port": port, "protocol": "TCP"})),
    });
    Input::new(Watched::Emitted(Kind::EndpointSlice), namespace, &format!("{name}-1"), body)
}

/// What lets rules of the first namespace, of every kind, name Services of the second.
pub(crate) fn grant() -> Input {
    let from = [
        (GROUP, "ServiceImport"),
        ("gateway.networking.k8s.io", "HTTPRoute"),
        ("gateway.networking.k8s.io", "GRPCRoute"),
    ];
    let from = from.map(|(group, kind)| json!({"group": group, "kind": kind, "namespace": "a"}));
    let spec = json!({"from": from, "to": [{"group": "", "kind": "Service", "name": "granted"}]});
    Input::new(Watched::Emitted(Kind::ReferenceGrant), "b", "granted", json!({"spec": spec}))
}

pub(crate) fn consumer(wish: &ImportWish) -> Input {
    let (namespace, name) = SERVICES[0];
    let parent =
        json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": name, "namespace": namespace});
    let spec = json!({"parentRefs": [parent], "rules": rules(wish).collect::<Vec<_>>()});
    Input::new(Watched::Emitted(Kind::HttpRoute), "b", "consumer", json!({"spec": spec}))
}

/// A `Route` of the first namespace: a part of its requests goes to the Service of this cluster, the rest to the first import.
pub(crate) fn openshift_route() -> Input {
    let (namespace, name) = SERVICES[0];
    let to = |name: &str, weight: u32| json!({"kind": "Service", "name": name, "weight": weight});
    let spec = json!({"host": ROUTED_HOST, "to": to("local", 1),
        "alternateBackends": [to(&format!("{name}-clusterset"), 3)]});
    let metadata = json!({"labels": {"mc-wan.l7mp.io/router": "mcwan"}});
    Input::new(Watched::OpenshiftRoute, namespace, "hosts", json!({"metadata": metadata, "spec": spec}))
}

/// The same by TLS with the certificate of a Secret; in the clear, clients are sent there.
pub(crate) fn tls_route(secret: usize) -> Input {
    let mut input = openshift_route();
    input.body["spec"]["tls"] = json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect",
        "externalCertificate": {"name": SECRETS[secret]}});
    input
}

/// What lets routes of the second namespace give rules for imports of the first.
pub(crate) fn admission() -> Input {
    let from = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "b"});
    let spec = json!({"from": [from], "to": [{"group": "multicluster.x-k8s.io", "kind": "ServiceImport"}]});
    Input::new(Watched::Emitted(Kind::ReferenceGrant), "a", "consumers", json!({"spec": spec}))
}

pub(crate) fn own_export(namespace: &str, name: &str) -> Input {
    let annotations = json!({"mc-wan.l7mp.io/wan-policy": TIERS[0]});
    Input::new(Watched::ServiceExport, namespace, name, json!({"metadata": {"annotations": annotations}}))
}

/// A pod as its node tells of it, beside what others tell.
pub(crate) fn pod(pod: &Pod) -> Input {
    let Pod { namespace, gateway, name, born, .. } = pod;
    let is_ready = pod.stage == Stage::Ready;
    let admitted = match pod.gate {
        Gate::Closed => "False",
        Gate::Admitted | Gate::Late => "True",
    };
    let admitted = json!({"type": ADMITTED_CONDITION, "status": admitted, "message": pod.address()});
    let body = json!({
        "metadata": {"labels": {GATEWAY_LABEL: gateway}, "creationTimestamp": clock(*born)},
        "spec": {"containers": []},
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": pod.address()}],
            "conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "False" }}, admitted],
        },
    });
    Input::new(Watched::Pod, namespace, name, body)
}
