//! Gateways: their listeners, and how istiod is to run them.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::{is_reserved_port, listener_port};
use serde_json::json;

use crate::emit::object::{Kind, Object};
use crate::kind;
use crate::problem::{Problem, Reason};
use crate::translate::Import;
use crate::translate::gateway_pods::{ADMITTED_CONDITION, GATEWAY_LABEL};

use super::draft::Draft;
use super::{Settings, names};

/// Listeners of one Gateway (Gateway API, `GatewaySpec`).
pub(super) const LISTENERS: usize = 64;

/// Who may look at the numbers that the filter publishes, such as which config is in force: by default the agent
/// shows none that are not Istio's.
const STATS_ANNOTATION: (&str, &str) = ("sidecar.istio.io/statsInclusionPrefixes", "wasmcustom.mcwan");

/// The ports of an import with those of their listeners. A reserved port goes without where the import itself has
/// the port that would stand in for it.
pub(super) fn served_ports<'i>(
    import: &'i Import,
    problems: &mut Vec<Problem>,
) -> impl Iterator<Item = (u16, u16)> + use<'i> {
    let is_taken = |port: u16| is_reserved_port(port) && import.ports.contains(&listener_port(port));
    for port in import.ports.iter().filter(|port| is_taken(**port)) {
        let message = format!("port {port} is the gateway's own, and port {} is taken, too", listener_port(*port));
        problems.push(Problem::error(import.object.clone(), Reason::PortConflict, message));
    }
    let served = import.ports.iter().filter(move |port| !is_taken(**port) && !import.unserved.contains(port));
    served.map(|port| (*port, listener_port(*port)))
}

/// The port by which clients of hosts that users choose speak TLS.
const SECURE_PORT: u16 = 443;

/// Whether clients of an import speak TLS on a port: then each host has a listener of its own.
pub(super) fn is_secure(import: &Import, port: u16) -> bool {
    !import.is_service() && port == SECURE_PORT
}

/// The hosts that clients speak TLS with, and the Secrets with their certificates: as many of the first as there is room for.
/// None where a service has their port.
pub(super) fn certificates<'i>(
    imports: impl IntoIterator<Item = &'i Import>,
    listeners: &BTreeSet<u16>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, String> {
    let mut certificates = BTreeMap::new();
    for import in imports {
        for (host, secret) in &import.certificates {
            if !listeners.contains(&SECURE_PORT) && listeners.len() + certificates.len() < LISTENERS {
                certificates.insert(host.clone(), secret.clone());
                continue;
            }
            let message = format!(
                "no listener is left for TLS with {host}: a Gateway has at most {LISTENERS}, and none on port {SECURE_PORT} \
                 beside one in the clear"
            );
            let objects = import.objects_of_host(host, Some(SECURE_PORT)).into_iter();
            problems.extend(objects.map(|object| Problem::error(object, Reason::TooLarge, message.as_str())));
        }
    }
    certificates
}

/// What is wrong with an import where these listeners have no certificate.
pub fn without_certificate(import: &Import, listeners: &[Box<str>]) -> Vec<Problem> {
    let is_without =
        |(host, _): &&(String, String)| listeners.iter().any(|listener| **listener == *names::secure_listener(host));
    let told = import.certificates.iter().filter(is_without).flat_map(|(host, secret)| {
        let message =
            format!("istiod has no certificate for {host} from Secret {secret}: want one of kubernetes.io/tls");
        let objects = import.objects_of_host(host, Some(SECURE_PORT)).into_iter();
        objects.map(move |object| Problem::error(object, Reason::InvalidCertificateRef, message.as_str()))
    });
    told.collect()
}

/// The ports of the listeners that imports need, by their ports, the oldest import first: younger ones go without what is
/// over the bound.
pub(super) fn listeners<'i>(
    imports: impl IntoIterator<Item = (&'i Import, BTreeMap<u16, u16>)>,
    problems: &mut Vec<Problem>,
) -> BTreeSet<u16> {
    let mut listeners = BTreeSet::new();
    for (import, ports) in imports {
        let mut unserved = import.unserved.clone();
        for (port, listener) in ports {
            if is_secure(import, port) {
                continue;
            }
            if listeners.len() < LISTENERS || listeners.contains(&listener) {
                listeners.insert(listener);
            } else {
                unserved.insert(port);
            }
        }
        let has_others = import.is_service() && unserved.len() < import.ports.len();
        let reason = if has_others { Reason::PortConflict } else { Reason::TooLarge };
        problems.extend(unserved.into_iter().map(|port| {
            let message = format!("no listener is left for port {port}: a Gateway has at most {LISTENERS}");
            Problem::error(import.object.clone(), reason, message)
        }));
    }
    listeners
}

/// A Gateway with a listener on each of these ports, and how istiod is to run it.
pub(super) fn objects(
    namespace: &str,
    name: &str,
    listeners: &BTreeSet<u16>,
    certificates: &BTreeMap<String, String>,
    settings: &Settings,
) -> [Object; 2] {
    let listener = |port: &u16| {
        json!({
            "name": names::listener(*port),
            "port": port,
            "protocol": "HTTP",
            "allowedRoutes": {"namespaces": {"from": "Same"}},
        })
    };
    let secure = |(host, secret): (&String, &String)| {
        json!({
            "name": names::secure_listener(host),
            "hostname": host,
            "port": SECURE_PORT,
            "protocol": "HTTPS",
            "tls": {"mode": "Terminate", "certificateRefs": [kind::SECRET.reference(secret)]},
            "allowedRoutes": {"namespaces": {"from": "Same"}},
        })
    };
    let gateway = Draft::new(Kind::Gateway, namespace, name)
        .annotation("networking.istio.io/service-type", "ClusterIP")
        .with_spec(json!({
            "gatewayClassName": settings.gateway_class,
            "infrastructure": {"parametersRef": kind::CONFIG_MAP.reference(name)},
            "listeners": listeners.iter().map(listener).chain(certificates.iter().map(secure)).collect::<Vec<_>>(),
        }));
    let parameters = Draft::new(Kind::ConfigMap, namespace, name).with(json!({
        "data": {"deployment": deployment(name), "podDisruptionBudget": "spec:\n  maxUnavailable: 1\n"},
    }));
    [parameters, gateway]
}

/// What istiod merges into the Deployment of a Gateway: two pods, on different nodes if it can be.
fn deployment(gateway: &str) -> String {
    let (annotation, prefix) = STATS_ANNOTATION;
    let metadata = if gateway == names::EGRESS_GATEWAY {
        format!("    metadata:\n      annotations:\n        {annotation}: {prefix}\n")
    } else {
        String::new()
    };
    // One that requests leave through takes none before the clusters that they go to admit it.
    let gates = if gateway == names::INGRESS_GATEWAY {
        String::new()
    } else {
        format!("      readinessGates:\n      - conditionType: {ADMITTED_CONDITION}\n")
    };
    format!(
        "\
spec:
  replicas: 2
  template:
{metadata}    spec:
{gates}      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            {GATEWAY_LABEL}: {gateway}
"
    )
}
