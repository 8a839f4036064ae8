//! The name that a service of several clusters has in each of them: the `ServiceImport` of the Multi-Cluster Services API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::exportable::is_reserved;
use crate::api::{ServiceProperties, SessionAffinity, TrafficPolicy};
use crate::emit::object::{Kind, Object};
use crate::json::{put, put_at};
use crate::snapshot::{Key, is_from_elsewhere};
use crate::translate::Import;

use super::draft::Draft;
use super::{Settings, names};

/// The annotation by which others find the Service behind a `ServiceImport`.
const DERIVED_SERVICE: &str = "multicluster.kubernetes.io/derived-service";

/// The `ServiceImport` of an import; none where nobody exports it, and, unless it is headless, as long as it has no address: of
/// a name without any, clients keep that it has none.
pub fn clusterset_object(import: &Import, settings: &Settings) -> Option<Object> {
    let is_own = !is_from_elsewhere(&import.key);
    let clusterset = import.clusterset.as_ref().filter(|_| is_own && settings.has_mcs_imports)?;
    let properties = &clusterset.properties;
    let is_headless = clusterset.is_headless();
    if import.addresses.is_empty() && !is_headless {
        return None;
    }
    let Key { namespace, name } = &import.key;
    let mut draft = Draft::new(Kind::McsServiceImport, namespace, name);
    for (key, value) in free(&properties.labels) {
        draft = draft.label(key, value);
    }
    for (key, value) in free(&properties.annotations) {
        draft = draft.annotation(key, value);
    }
    let draft = draft.of_import(&import.key).annotation(DERIVED_SERVICE, &names::clusterset_service(name));
    let mut spec = spec(properties);
    put(&mut spec, "ports", json!(clusterset.ports));
    if !is_headless {
        put(&mut spec, "ips", json!(import.addresses));
        let family = |is_ipv4| if is_ipv4 { "IPv4" } else { "IPv6" };
        let families: Vec<_> = import.addresses.iter().map(|address| family(address.is_ipv4())).collect();
        put(&mut spec, "ipFamilies", json!(families));
    }
    Some(draft.with_spec(spec))
}

/// What a service is beside ports and addresses.
fn spec(properties: &ServiceProperties) -> Value {
    let is_affine = properties.session_affinity == SessionAffinity::ClientIp;
    let is_local = properties.internal_traffic_policy == TrafficPolicy::Local;
    let mut spec = json!({
        "type": properties.service_type,
        "sessionAffinity": if is_affine { "ClientIP" } else { "None" },
        "internalTrafficPolicy": if is_local { "Local" } else { "Cluster" },
    });
    if let Some(seconds) = properties.session_affinity_seconds {
        put_at(&mut spec, &["sessionAffinityConfig", "clientIP", "timeoutSeconds"], seconds);
    }
    if let Some(distribution) = &properties.traffic_distribution {
        put(&mut spec, "trafficDistribution", distribution.as_str());
    }
    spec
}

/// The labels or annotations that nobody here steers by: what is in the registry may be of anybody's making.
fn free(pairs: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    pairs.iter().filter(|(key, _)| !is_reserved(key))
}
