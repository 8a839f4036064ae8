//! What a service is to clients in every cluster, as the Multi-Cluster Services API has it.

use std::net::IpAddr;

use mcwan_policy::limits;

use crate::api::{ExportedPort, ServiceProperties, ServiceType};
use crate::kind::OPENSHIFT_ROUTE;
use crate::snapshot::{Key, Snapshot, is_from_elsewhere};

use super::{Declared, Exports, Merged, merge, target};

/// Hexadecimal digits of the hash that keeps names apart that clients use, in a namespace that is one tenant's.
const HASH_DIGITS: usize = 8;

/// What a service of one or several clusters is to clients: the same in every cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusterset {
    /// The ports that any cluster has, those of older exports first.
    pub ports: Vec<ExportedPort>,
    /// What else it is.
    pub properties: ServiceProperties,
    /// The clusters that export it, in the order of their names.
    pub clusters: Vec<String>,
    /// Those of them whose pods are not reached without a gateway.
    pub far: Vec<String>,
}

/// A port of a service whose connections go straight to pods, as nobody can tell requests on it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectPort {
    /// The port that clients use.
    pub port: ExportedPort,
    /// The clusters whose pods have it, and are reached.
    pub near: Vec<String>,
    /// Those whose pods have it, and are not.
    pub far: Vec<String>,
}

impl DirectPort {
    /// What the Service that clients call has it as. Istio reads the protocol out of the name.
    pub fn name(&self) -> String {
        format!("{}-{}", self.port.protocol.name().to_ascii_lowercase(), self.port.port)
    }
}

impl Clusterset {
    /// The ports of a service whose connections go straight to pods.
    pub(super) fn direct_ports(&self, exports: &Exports, namespace: &str, name: &str) -> Vec<DirectPort> {
        let ports = self.ports.iter().filter(|port| !port.is_http());
        let direct = ports.map(|port| {
            let has_it = |one: &Declared<'_>| one.ports.iter().any(|known| known.number() == port.number());
            let having = exports.declared(namespace, name).filter(has_it);
            let having = having.map(|one| one.precedence.cluster.clone());
            let (near, far) = having.partition(|cluster| exports.is_near(cluster));
            DirectPort { port: port.clone(), near, far }
        });
        direct.collect()
    }

    /// What the registry says of a service; none: nobody exports it.
    pub(super) fn of(exports: &Exports, namespace: &str, name: &str) -> Option<Self> {
        let mut clusters: Vec<_> =
            exports.declared(namespace, name).map(|one| one.precedence.cluster.clone()).collect();
        clusters.sort();
        let Merged { ports, properties, .. } = merge(exports.declared(namespace, name).collect())?;
        let far = clusters.iter().filter(|cluster| !exports.is_near(cluster)).cloned().collect();
        Some(Self { ports, properties: properties.clone(), clusters, far })
    }

    /// Whether its name leads to pods, and it has no address.
    pub fn is_headless(&self) -> bool {
        self.properties.service_type == ServiceType::Headless
    }

    /// Whether requests go to other clusters only where this one has no ready pod (Kubernetes, `trafficDistribution`).
    pub fn stays_close(&self) -> bool {
        let distribution = self.properties.traffic_distribution.as_deref();
        matches!(distribution, Some("PreferClose" | "PreferSameZone" | "PreferSameNode"))
    }
}

/// The Service that clients of `Route`s call.
const ROUTER: &str = "mcwan-router";

/// The name of the Service that clients of an import call, by the name that it has in their namespace.
pub fn clusterset_service(name: &str) -> String {
    if name == OPENSHIFT_ROUTE.group {
        return ROUTER.to_owned();
    }
    let joined = format!("{}-clusterset", name.replace('.', "-"));
    if joined.len() <= limits::LABEL_BYTES { joined } else { target::hashed(&joined, name, HASH_DIGITS) }
}

/// The addresses of that Service: those that it has, or else those that clients were told of. They outlive it.
pub(super) fn addresses(snapshot: &Snapshot, namespace: &str, name: &str) -> Vec<IpAddr> {
    let service = snapshot.client_services.get(namespace, &clusterset_service(name));
    let told = || snapshot.mcs_service_imports.get(namespace, name).map(|import| import.spec.ips.clone());
    service.map(|service| service.addresses.clone()).or_else(told).unwrap_or_default()
}

/// The hosts that the Service has which clients of another namespace than the import's call; that of its own clients are
/// among the standard hosts.
pub(super) fn client_hosts(view: &Key) -> Vec<String> {
    if !is_from_elsewhere(view) {
        return Vec::new();
    }
    let (service, namespace) = (clusterset_service(&view.name), &view.namespace);
    let full = format!("{service}.{namespace}.svc.cluster.local");
    vec![service.clone(), format!("{service}.{namespace}"), format!("{service}.{namespace}.svc"), full]
}

/// An address as the host of a request (RFC 3986, section 3.2.2).
pub(super) fn host(address: &IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
