//! `ExportedEndpoints`: pods behind an exported Service, as the registry holds them for clusters that reach each other's pods.
//!
//! Fields that a reader does not know are no error: clusters are upgraded one after the other.

use std::net::IpAddr;
use std::num::NonZeroU16;

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Protocol, cel, limits, pattern};

/// Pods of one cluster behind a Service that it exports: as many as an `EndpointSlice` there has. It is named
/// `CLUSTER.NAMESPACE.NAME.SLICE`.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "ExportedEndpoints",
    plural = "exportedendpoints",
    namespaced,
    derive = "PartialEq",
    category = "mcwan",
    doc = "Pods behind a service that one cluster exports, published in the registry under the name CLUSTER.NAMESPACE.NAME.SLICE while another cluster is on the same network.",
    validation = cel::NAMED_BY_SLICE,
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Address type", type_ = "string", json_path = ".spec.addressType"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ExportedEndpointsSpec {
    /// The exporting cluster.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cluster: String,
    /// The namespace of the Service.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub namespace: String,
    /// The name of the Service.
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub name: String,
    /// The family of all addresses.
    pub address_type: AddressType,
    /// The ports that the pods have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::PORTS))]
    pub ports: Vec<PodPort>,
    /// The pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::ENDPOINTS))]
    pub endpoints: Vec<PodEndpoint>,
}

/// The family of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "as in an EndpointSlice")]
pub enum AddressType {
    #[serde(rename = "IPv4")]
    Ipv4,
    #[serde(rename = "IPv6")]
    Ipv6,
}

/// A port that pods have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodPort {
    /// What the Service calls it; it may leave out the name of its only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::PORT_NAME))]
    pub name: Option<String>,
    /// The port, which need not be that of the Service.
    pub port: NonZeroU16,
    /// The transport protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// The application protocol, as in a Service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::APP_PROTOCOL))]
    pub app_protocol: Option<String>,
}

/// A pod, as an `EndpointSlice` has it, but for its node and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodEndpoint {
    /// Its address.
    pub address: IpAddr,
    /// Whether it takes new connections; yes, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Whether it answers, be it on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<bool>,
    /// Whether it is on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminating: Option<bool>,
    /// Its name below that of the service, for DNS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub hostname: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub zone: Option<String>,
}

impl AddressType {
    /// The one that an `EndpointSlice` names; none where it is for names.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Ipv4, Self::Ipv6].into_iter().find(|known| known.name() == name)
    }

    /// As an `EndpointSlice` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }
}
