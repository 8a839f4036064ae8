//! What this cluster exports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;

use crate::api::exportable::{is_key, is_label_value, is_reserved};
use crate::api::{
    ExportedPort, Protocol, REGISTRY_NAMESPACE, ServiceExport, ServiceProperties, ServiceType, SessionAffinity,
    TrafficPolicy, WAN_POLICY_ANNOTATION, limits,
};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Snapshot};

use super::gateway_pods::{INGRESS_GATEWAY, ready_addresses};
use super::{Exports, Options, owner};

/// A Service that this cluster exports, or should.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalExport {
    /// The `ServiceExport`.
    pub object: ObjectRef,
    /// The namespace and name that both have.
    pub key: Key,
    /// The `ServiceExport`, as the owner of what is made of it; none: it is not in a cluster.
    pub owner: Option<OwnerReference>,
    /// When the `ServiceExport` was created, or what the registry was told of that before, if it is later; of one in a
    /// file: 1970.
    pub exported_at: Time,
    /// The ports of the Service; none: it is not exported.
    pub ports: Vec<ExportedPort>,
    /// What else it is to its clients.
    pub properties: ServiceProperties,
    /// The tier of requests that no rule is for.
    pub default_tier: Option<String>,
    /// Where the other clusters send requests for it.
    pub gateways: Vec<IpAddr>,
    /// How many ready pods stand behind it, as the registry is told.
    pub ready_pods: u32,
    /// What is wrong with it; with an error of the whole object it is not exported.
    pub problems: Vec<Problem>,
}

impl LocalExport {
    /// What becomes of a `ServiceExport`.
    pub(super) fn new(export: &ServiceExport, snapshot: &Snapshot, exports: &Exports, options: &Options) -> Self {
        let key = Key::of(&export.metadata);
        let object = ObjectRef::namespaced(ServiceExport::KIND, &*key.namespace, &*key.name);
        let mut problems = Vec::new();
        let service = snapshot.services.get(&key.namespace, &key.name);
        let ports = match service {
            Some(service) => ports_of(service, &object),
            None => {
                Err(Box::new(Problem::error(object.clone(), Reason::NoService, format!("there is no Service {key}"))))
            }
        };
        let ports = ports.unwrap_or_else(|problem| {
            problems.push(*problem);
            Vec::new()
        });
        let spec = service.and_then(|service| service.spec.as_ref());
        let properties = properties(spec, export, &object, &mut problems);
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
        // After a restore it may be older than the registry was told, which takes no earlier time.
        let created = export.metadata.creation_timestamp.iter();
        let exported_at = created.chain(told.map(|told| &told.spec.exported_at)).max().cloned();
        let exported_at = exported_at.unwrap_or(Time(Timestamp::UNIX_EPOCH));
        Self {
            owner: owner(export, &options.mcs_version),
            exported_at,
            ports,
            properties,
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
    let ports: Vec<_> = ports
        .filter_map(|port| {
            Some(ExportedPort {
                name: port.name.clone().filter(|name| !name.is_empty()),
                port: u16::try_from(port.port).ok()?.try_into().ok()?,
                protocol: Protocol::of(port.protocol.as_deref())?,
                app_protocol: port.app_protocol.clone(),
            })
        })
        .collect();
    if ports.is_empty() {
        let message = format!("{} has no port", ObjectRef::of(service));
        return Err(Box::new(Problem::error(object.clone(), Reason::InvalidServiceType, message)));
    }
    if ports.len() > limits::PORTS {
        let message =
            format!("{} has {} ports, over the bound of {}", ObjectRef::of(service), ports.len(), limits::PORTS);
        return Err(Box::new(Problem::error(object.clone(), Reason::TooLarge, message)));
    }
    Ok(ports)
}

/// What a Service is to its clients beside its ports.
fn properties(
    service: Option<&ServiceSpec>,
    export: &ServiceExport,
    object: &ObjectRef,
    problems: &mut Vec<Problem>,
) -> ServiceProperties {
    let has = |field: fn(&ServiceSpec) -> Option<&str>, text: &str| service.and_then(field) == Some(text);
    let is_headless = has(|spec| spec.cluster_ip.as_deref(), "None");
    let is_affine = has(|spec| spec.session_affinity.as_deref(), "ClientIP");
    let is_local = has(|spec| spec.internal_traffic_policy.as_deref(), "Local");
    let affinity = service.and_then(|spec| spec.session_affinity_config.as_ref()?.client_ip.as_ref());
    let mut exported = |field, pairs: &BTreeMap<String, String>, is_value: fn(&str) -> bool| {
        exported(field, pairs, is_value, object, problems)
    };
    ServiceProperties {
        service_type: if is_headless { ServiceType::Headless } else { ServiceType::ClusterSetIp },
        session_affinity: if is_affine { SessionAffinity::ClientIp } else { SessionAffinity::None },
        session_affinity_seconds: affinity
            .filter(|_| is_affine)
            .and_then(|affinity| u32::try_from(affinity.timeout_seconds?).ok()),
        internal_traffic_policy: if is_local { TrafficPolicy::Local } else { TrafficPolicy::Cluster },
        traffic_distribution: service.and_then(|spec| spec.traffic_distribution.clone()),
        labels: exported("spec.exportedLabels", &export.spec.exported_labels, is_label_value),
        annotations: exported("spec.exportedAnnotations", &export.spec.exported_annotations, |_| true),
    }
}

/// The labels or annotations that go with a Service: none, where they are too many.
fn exported(
    field: &'static str,
    pairs: &BTreeMap<String, String>,
    is_value: fn(&str) -> bool,
    object: &ObjectRef,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, String> {
    let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
    if pairs.len() > limits::EXPORTED_KEYS || bytes > limits::EXPORTED_BYTES {
        let message = format!(
            "{} keys of {bytes} bytes in all, over the bound of {} keys or {} bytes: none is exported",
            pairs.len(),
            limits::EXPORTED_KEYS,
            limits::EXPORTED_BYTES
        );
        problems.push(Problem::error(object.clone(), Reason::TooLarge, message).at(field));
        return BTreeMap::new();
    }
    let mut exported = BTreeMap::new();
    for (key, value) in pairs {
        let refusal = if !is_key(key) || !is_value(value) {
            "Kubernetes takes no such key or value"
        } else if is_reserved(key) {
            "Kubernetes, Istio or mcwan steers by it"
        } else {
            exported.insert(key.clone(), value.clone());
            continue;
        };
        let problem = Problem::warning(object.clone(), Reason::InvalidName, format!("not exported: {refusal}"));
        problems.push(problem.at(FieldPath::from(field).key(key)));
    }
    exported
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
