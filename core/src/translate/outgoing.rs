//! What this cluster exports.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;

use crate::api::{ExportedPort, Protocol, REGISTRY_NAMESPACE, ServiceExport, WAN_POLICY_ANNOTATION, limits};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Snapshot};

use super::gateway_pods::{INGRESS_GATEWAY, ready_addresses};
use super::{Exports, Options, owner};

/// A Service that this cluster exports, or should.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// The `ServiceExport`.
    pub object: ObjectRef,
    /// The namespace and name that both have.
    pub key: Key,
    /// The `ServiceExport`, as the owner of what is made of it; none: it is not in a cluster.
    pub owner: Option<OwnerReference>,
    /// When the `ServiceExport` was created; of one that is in no cluster: 1970.
    pub exported_at: Time,
    /// The TCP ports of the Service; none: it is not exported.
    pub ports: Vec<ExportedPort>,
    /// The tier of requests that no rule is for.
    pub default_tier: Option<String>,
    /// Where the other clusters send requests for it.
    pub gateways: Vec<IpAddr>,
    /// How many ready pods stand behind it, as the registry is told.
    pub ready_pods: u32,
    /// What is wrong with it; with an error of the whole object it is not exported.
    pub problems: Vec<Problem>,
}

impl Outgoing {
    /// What becomes of a `ServiceExport`.
    pub(super) fn new(export: &ServiceExport, snapshot: &Snapshot, exports: &Exports, options: &Options) -> Self {
        let key = Key::of(&export.metadata);
        let object = ObjectRef::namespaced(ServiceExport::KIND, &*key.namespace, &*key.name);
        let mut problems = Vec::new();
        let ports = match snapshot.services.get(&key.namespace, &key.name) {
            Some(service) => ports_of(service, &object),
            None => {
                Err(Box::new(Problem::error(object.clone(), Reason::NoService, format!("there is no Service {key}"))))
            }
        };
        let ports = ports.unwrap_or_else(|problem| {
            problems.push(*problem);
            Vec::new()
        });
        let mut gateways = ready_addresses(snapshot, &key.namespace, &[INGRESS_GATEWAY]);
        if gateways.len() > limits::ADDRESSES {
            let message =
                format!("its gateway has {} addresses, and takes requests by {}", gateways.len(), limits::ADDRESSES);
            problems.push(Problem::error(object.clone(), Reason::TooLarge, message));
            gateways.truncate(limits::ADDRESSES);
        }
        let default_tier = export.default_tier();
        if let Some(tier) = default_tier.filter(|tier| !exports.tiers().any(|known| known == *tier)) {
            let message = format!("there is no WANPolicy {tier}, the default tier");
            let field = FieldPath::from("metadata.annotations").key(WAN_POLICY_ANNOTATION);
            problems.push(Problem::error(object.clone(), Reason::UnknownTier, message).at(field));
        }
        let told = options.cluster.as_ref().and_then(|cluster| {
            let name = format!("{cluster}.{}.{}", key.namespace, key.name);
            snapshot.exported_services.get(REGISTRY_NAMESPACE, &name)
        });
        Self {
            owner: owner(export, &options.mcs_version),
            exported_at: export.metadata.creation_timestamp.clone().unwrap_or(Time(Timestamp::UNIX_EPOCH)),
            ports,
            default_tier: default_tier.map(str::to_owned),
            gateways,
            ready_pods: damped(told.map(|told| told.spec.ready_pods), ready_pods(snapshot, &key)),
            problems,
            object,
            key,
        }
    }

    /// Whether other clusters can have it.
    pub fn is_exported(&self) -> bool {
        !self.ports.is_empty()
    }
}

fn ports_of(service: &Service, object: &ObjectRef) -> Result<Vec<ExportedPort>, Box<Problem>> {
    let spec = service.spec.as_ref();
    if spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        let message = format!("{} is of type ExternalName", ObjectRef::of(service));
        return Err(Box::new(Problem::error(object.clone(), Reason::InvalidServiceType, message)));
    }
    let ports = spec.iter().flat_map(|spec| &spec.ports).flatten();
    let tcp = ports.filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
    let ports: Vec<_> = tcp
        .filter_map(|port| {
            Some(ExportedPort {
                name: port.name.clone(),
                port: u16::try_from(port.port).ok()?.try_into().ok()?,
                protocol: Protocol::Tcp,
                app_protocol: port.app_protocol.clone(),
            })
        })
        .collect();
    if ports.is_empty() {
        let message = format!("{} has no TCP port", ObjectRef::of(service));
        return Err(Box::new(Problem::error(object.clone(), Reason::InvalidServiceType, message)));
    }
    if ports.len() > limits::PORTS {
        let message =
            format!("{} has {} TCP ports, over the bound of {}", ObjectRef::of(service), ports.len(), limits::PORTS);
        return Err(Box::new(Problem::error(object.clone(), Reason::TooLarge, message)));
    }
    Ok(ports)
}

/// How many endpoints of a Service are ready.
fn ready_pods(snapshot: &Snapshot, service: &Key) -> u32 {
    let slices = snapshot.endpoint_slices_of(&service.namespace, &service.name);
    let endpoints = slices.filter(|slice| slice.address_type != "FQDN").flat_map(|slice| &slice.endpoints).flatten();
    let is_ready = |ready: Option<bool>| ready.unwrap_or(true);
    let ready = endpoints.filter(|endpoint| is_ready(endpoint.conditions.as_ref().and_then(|known| known.ready)));
    // In a dual-stack cluster a pod is in a slice of each family.
    let pods: BTreeSet<_> = ready
        .map(|endpoint| match &endpoint.target_ref {
            Some(target) => target.name.clone().unwrap_or_default(),
            None => endpoint.addresses.first().cloned().unwrap_or_default(),
        })
        .collect();
    u32::try_from(pods.len()).unwrap_or(u32::MAX)
}

/// The number that the registry is told: the one that it knows, unless it is off by a tenth or is zero where the
/// other is not. Routes follow it, and must not change with every pod.
fn damped(told: Option<u32>, counted: u32) -> u32 {
    match told {
        Some(told) if told > 0 && counted > 0 && told.abs_diff(counted).saturating_mul(10) < told => told,
        _ => counted,
    }
}

#[cfg(test)]
mod tests {
    use super::damped;

    #[test]
    fn a_change_of_less_than_a_tenth_is_not_told() {
        let table = [
            (None, 7, 7, "nothing was told yet"),
            (Some(100), 91, 100, "just less than a tenth down"),
            (Some(100), 109, 100, "just less than a tenth up"),
            (Some(100), 90, 90, "a tenth down"),
            (Some(100), 110, 110, "a tenth up"),
            (Some(3), 2, 2, "one of few"),
            (Some(100), 0, 0, "to zero"),
            (Some(0), 1, 1, "from zero"),
        ];
        for (told, counted, expected, message) in table {
            assert_eq!(damped(told, counted), expected, "{message}");
        }
    }
}
