//! `ExportedService`: what one cluster exports, as the registry holds it.
//!
//! Fields that a reader does not know are no error: clusters are upgraded one after the other.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{cel, limits, pattern};

/// A service that one cluster exports. It is named `CLUSTER.NAMESPACE.NAME`.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "ExportedService",
    namespaced,
    derive = "PartialEq",
    category = "mcwan",
    doc = "A service that one cluster exports, published in the registry under the name CLUSTER.NAMESPACE.NAME.",
    validation = cel::NAMED_BY_SERVICE,
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Default tier", type_ = "string", json_path = ".spec.defaultTier"),
    printcolumn(name = "Ready pods", type_ = "integer", json_path = ".spec.readyPods"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Gateways", type_ = "string", json_path = ".spec.gateways", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct ExportedServiceSpec {
    /// The exporting cluster.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cluster: String,
    /// The namespace of the Service.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub namespace: String,
    /// The name of the Service.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub name: String,
    /// When the `ServiceExport` was created. Of conflicting exports the oldest holds.
    pub exported_at: Time,
    /// The ports of the Service, of every protocol.
    #[schemars(length(min = 1, max = limits::PORTS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["port", "protocol"]))]
    pub ports: Vec<ExportedPort>,
    /// What else the Service is to its clients. The oldest export's hold.
    #[serde(default, skip_serializing_if = "is_default")]
    pub properties: ServiceProperties,
    /// The tier of requests that no rule is for. The oldest export's holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub default_tier: Option<String>,
    /// The addresses of the ready ingress gateway pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::ADDRESSES))]
    pub gateways: Vec<IpAddr>,
    /// How many ready pods stand behind the Service.
    #[serde(default)]
    pub ready_pods: u32,
}

/// A port of an exported Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedPort {
    /// Its name; a Service with a single port may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::PORT_NAME))]
    pub name: Option<String>,
    /// The port that clients use.
    pub port: NonZeroU16,
    /// The transport protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// The application protocol, as in a Service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::APP_PROTOCOL))]
    pub app_protocol: Option<String>,
}

/// Protocols that Istio knows by these words, and that are not HTTP (Istio, "Protocol Selection"; `kubernetes.io/wss` is
/// encrypted by the application).
const NOT_HTTP: [&str; 9] =
    ["tcp", "udp", "https", "http_proxy", "tls", "mongo", "redis", "mysql", "kubernetes.io/wss"];

/// Ports on which servers may speak first, so that Istio takes what is on them for plain TCP unless something is said: SMTP,
/// DNS, `MySQL`, `MongoDB`.
const SERVERS_FIRST: [u16; 4] = [25, 53, 3306, 27017];

impl ExportedPort {
    /// What tells it from other ports of its Service.
    pub fn number(&self) -> (NonZeroU16, Protocol) {
        (self.port, self.protocol)
    }

    /// Whether requests are spoken on it, which rules can tell apart, as Istio would say: by the application protocol, else
    /// by what the name begins with. What it does not know, it takes for what it turns out to be, and we for HTTP.
    pub fn is_http(&self) -> bool {
        let said = self.app_protocol.as_deref().or(self.name.as_deref()).unwrap_or_default().to_ascii_lowercase();
        let word = said.split('-').next().unwrap_or_default();
        let is_known = ["http", "http2", "grpc", "kubernetes.io/h2c", "kubernetes.io/ws"].contains(&word);
        self.protocol == Protocol::Tcp
            && !NOT_HTTP.contains(&word)
            && (is_known || !SERVERS_FIRST.contains(&self.port.get()))
    }
}

impl Display for ExportedPort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.port, self.protocol.name())
    }
}

/// What a Service is to its clients beside its ports (KEP-1645, "global properties"), as its cluster has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceProperties {
    /// Whether it has an address of its own.
    #[serde(default, rename = "type", skip_serializing_if = "is_default")]
    pub service_type: ServiceType,
    /// Whether the connections of a client go to one pod.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session_affinity: SessionAffinity,
    /// For how many seconds after the last one, as a Service has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub session_affinity_seconds: Option<u32>,
    /// Which pods clients of the cluster reach.
    #[serde(default, skip_serializing_if = "is_default")]
    pub internal_traffic_policy: TrafficPolicy,
    /// Which pods are preferred, as a Service has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub traffic_distribution: Option<String>,
    /// The exported labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = limits::EXPORTED_KEYS, "x-kubernetes-map-type" = "atomic"))]
    #[schemars(extend("additionalProperties" = texts(63)))]
    pub labels: BTreeMap<String, String>,
    /// The exported annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = limits::EXPORTED_KEYS, "x-kubernetes-map-type" = "atomic"))]
    #[schemars(extend("additionalProperties" = texts(limits::EXPORTED_BYTES)))]
    pub annotations: BTreeMap<String, String>,
}

/// The type of an imported service (Multi-Cluster Services API, `ServiceImportType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// It has an address.
    #[default]
    #[serde(rename = "ClusterSetIP")]
    ClusterSetIp,
    /// Its name leads to the pods.
    Headless,
}

/// Whether the connections of a client go to one pod (Kubernetes, `ServiceSpec.sessionAffinity`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SessionAffinity {
    /// To any.
    #[default]
    None,
    /// To the same, by the client's address.
    #[serde(rename = "ClientIP")]
    ClientIp,
}

/// Which pods clients of a cluster reach (Kubernetes, `ServiceSpec.internalTrafficPolicy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TrafficPolicy {
    /// All.
    #[default]
    Cluster,
    /// Those of the client's own node.
    Local,
}

/// The transport protocol of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "as in a Service")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// The one that a Service names; TCP where it names none. None: not one that Kubernetes has.
    pub fn of(name: Option<&str>) -> Option<Self> {
        [Self::Tcp, Self::Udp, Self::Sctp].into_iter().find(|known| name.is_none_or(|name| name == known.name()))
    }

    /// As a Service has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// The schema of texts of so many characters.
fn texts(most: usize) -> Value {
    json!({"type": "string", "maxLength": most})
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoken_on_a_port_is_what_istio_says() {
        let tcp = Protocol::Tcp;
        let table = [
            (tcp, 8080, None, None, true, "nothing is said"),
            (tcp, 8080, Some("web"), None, true, "a name that says nothing"),
            (tcp, 8080, Some("grpc-web-api"), None, true, "gRPC for browsers"),
            (tcp, 443, Some("https"), None, false, "encrypted"),
            (tcp, 5432, Some("tcp-postgres"), None, false, "a name that begins with a protocol"),
            (tcp, 5432, Some("postgres"), None, true, "a protocol that Istio does not know"),
            (tcp, 5432, Some("postgres"), Some("TCP"), false, "any case"),
            (tcp, 8080, Some("tcp-web"), Some("http2"), true, "the application protocol holds, not the name"),
            (tcp, 8080, None, Some("kubernetes.io/h2c"), true, "Kubernetes' name for HTTP/2"),
            (tcp, 8080, None, Some("kubernetes.io/wss"), false, "encrypted by the application"),
            (tcp, 3306, None, None, false, "where servers speak first"),
            (tcp, 3306, Some("http-admin"), None, true, "unless somebody says what it is"),
            (Protocol::Udp, 8080, Some("http"), None, false, "no TCP"),
        ];
        for (protocol, port, name, app_protocol, expected, row) in table {
            let (name, app_protocol) = (name.map(str::to_owned), app_protocol.map(str::to_owned));
            let port = ExportedPort { name, port: port.try_into().unwrap(), protocol, app_protocol };
            assert_eq!(port.is_http(), expected, "{row}");
        }
    }
}
