//! The names of everything that mcwan writes. They are looked up; the one that is parsed is parsed here, beside what
//! makes it.
//!
//! Dots keep parts apart where the API server lets a name have them: no DNS label has one. The name of a Service is
//! a label itself; where joined parts could be too long, or the same as others, it ends in a hash.

use serde_json::Value;

use crate::emit::object::{Kind, ObjectId};
use crate::snapshot::Key;
use crate::translate::hashed;

pub use crate::fixed_names::{EGRESS_GATEWAY, INGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, PLUGIN, TIER_RULE};
pub use crate::translate::clusterset_service;

/// How long the name of an object may be that is no Service (RFC 1123).
const MOST_BYTES: usize = 253;
/// Hexadecimal digits of the hash that keeps names apart in a namespace that tenants share: 80 bits, so that nobody finds
/// parts of his own that another's hash to.
const HASH_DIGITS: usize = 20;

/// The slice with the addresses of one cluster and family behind a tier service.
pub(super) fn endpoint_slice(service: &str, cluster: &str, family: &str) -> String {
    format!("{service}.{cluster}.{}", family.to_ascii_lowercase())
}

/// What stands in the namespace of a service for one of the slices that a cluster has of it.
pub(super) fn clusterset_slice(slice: &str, cluster: &str) -> String {
    let joined = format!("{slice}.{cluster}");
    if joined.len() <= MOST_BYTES { joined } else { format!("{}.{cluster}", hashed(slice, slice, HASH_DIGITS)) }
}

/// Whether a slice is one of those behind a tier service.
pub fn is_slice_of(slice: &str, service: &str) -> bool {
    slice.strip_prefix(service).is_some_and(|rest| rest.starts_with('.'))
}

/// A `ReferenceGrant` that admits an import's routes to its tier services; the first has number 0.
pub(super) fn grant(Key { namespace, name }: &Key, number: usize) -> String {
    numbered(format!("{namespace}.{name}"), number)
}

/// An `HTTPRoute` of an import for one of its ports; the first has number 0.
pub fn import_route(name: &str, port: u16, number: usize) -> String {
    numbered(format!("{name}.{port}"), number)
}

/// Which port one of an import's `HTTPRoute`s is for, and its number among those.
pub(crate) fn import_route_place(route: &str, import: &str) -> Option<(u16, usize)> {
    let rest = route.strip_prefix(import)?.strip_prefix('.')?;
    let (port, number) = rest.split_once('.').unwrap_or((rest, "0"));
    let (port, number) = (port.parse().ok()?, number.parse().ok()?);
    (import_route(import, port, number) == route).then_some((port, number))
}

/// Whether an `HTTPRoute` is one of an import's.
pub fn is_route_of(route: &str, import: &str) -> bool {
    import_route_place(route, import).is_some()
}

/// The ports of the listeners of a Gateway of ours.
pub fn listener_ports(gateway: &Value) -> Vec<u16> {
    let listeners = gateway.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
    listeners.filter_map(|listener| u16::try_from(listener.get("port")?.as_u64()?).ok()).collect()
}

/// An `HTTPRoute` of an export; the first has number 0.
pub(super) fn export_route(name: &str, number: usize) -> String {
    numbered(format!("{name}.export"), number)
}

/// Whether an object of ours is made of what this cluster exports.
pub fn is_of_exports(id: &ObjectId) -> bool {
    let is_route = || id.kind == Kind::HttpRoute && id.key.name.split('.').nth(1) == Some("export");
    matches!(id.kind, Kind::ExportedService | Kind::ExportedEndpoints) || *id.key.name == *INGRESS_GATEWAY || is_route()
}

/// The listener of a Gateway on a port.
pub(super) fn listener(port: u16) -> String {
    format!("http-{port}")
}

/// The listener of a Gateway for a host that clients speak TLS with: a label, as istiod gives a port of the gateway's Service
/// the name of a listener, cut to the length of one.
pub(super) fn secure_listener(host: &str) -> String {
    hashed(&format!("tls-{}", host.replace('.', "-")), host, HASH_DIGITS)
}

/// What the registry calls a cluster's export.
pub fn exported_service(cluster: &str, namespace: &str, name: &str) -> String {
    format!("{cluster}.{namespace}.{name}")
}

/// What the registry calls the pods of a slice that a cluster has of its export.
pub(super) fn exported_endpoints(cluster: &str, service: &Key, slice: &str) -> String {
    let prefix = exported_service(cluster, &service.namespace, &service.name);
    let joined = format!("{prefix}.{slice}");
    if joined.len() <= MOST_BYTES { joined } else { format!("{prefix}.{}", hashed("s", slice, HASH_DIGITS)) }
}

/// The first has no number. The others have three digits: istiod orders routes of one age by name, and
/// `.010` must come after `.002`.
fn numbered(name: String, number: usize) -> String {
    if number == 0 { name } else { format!("{name}.{number:03}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcwan_policy::is_label;

    use super::*;

    #[test]
    fn the_name_of_a_service_is_a_label() {
        let long = "n".repeat(63);
        let table = [
            ("payment".to_owned(), "payment-clusterset", "short"),
            ("n".repeat(52), &*format!("{}-clusterset", "n".repeat(52)), "just short enough"),
        ];
        for (name, expected, message) in table {
            assert_eq!(clusterset_service(&name), expected, "{message}");
        }
        assert!(is_label(&clusterset_service(&long)), "long");
        assert_eq!(clusterset_service(&"n".repeat(60)).len(), 63, "clients call it by this name, so it stays");
        let dash = format!("{}-a", "n".repeat(53));
        assert!(!clusterset_service(&dash).contains("--"), "no dash before the hash but ours");
    }

    #[test]
    fn the_listener_of_a_host_is_a_label_of_its_own() {
        let long = |end: &str| format!("{}.{}.{end}", "n".repeat(38), "n".repeat(63));
        let hosts = ["a.b", "a-b", "80", "a.b-ba7816bf8f01cfea4141", &long("a"), &long("b")];
        let names: BTreeSet<_> = hosts.into_iter().map(secure_listener).collect();
        assert_eq!(names.len(), hosts.len(), "{names:?}");
        for name in names {
            assert!(is_label(&name) && name.starts_with("tls-"), "{name}");
        }
        assert!(secure_listener("shop.example.com").starts_with("tls-shop-example-com-"), "people can read it");
    }

    #[test]
    fn a_slice_is_of_one_service() {
        let slice = endpoint_slice("payment-secure-high", "cluster-1", "IPv4");
        assert!(is_slice_of(&slice, "payment-secure-high"));
        assert!(!is_slice_of(&slice, "payment-secure-hig"));
        assert!(!is_slice_of(&slice, "payment-secure-high-0a1b2c3d"));
    }

    #[test]
    fn parts_that_join_to_the_same_are_kept_apart() {
        assert_ne!(clusterset_service(&"n".repeat(60)), clusterset_service(&"n".repeat(61)));
    }

    #[test]
    fn routes_of_one_port_are_in_order_of_their_names() {
        let names: Vec<_> = [0, 1, 2, 10, 100].map(|number| import_route("payment", 8080, number)).into();
        assert_eq!(names[..3], ["payment.8080", "payment.8080.001", "payment.8080.002"]);
        assert!(names.is_sorted());
        for (name, number) in names.iter().zip([0, 1, 2, 10, 100]) {
            assert_eq!(import_route_place(name, "payment"), Some((8080, number)));
        }
        for other in
            ["payments.8080", "payment", "payment.export", "payment.99999", "payment.8080.1", "payment.8080.000"]
        {
            assert_eq!(import_route_place(other, "payment"), None, "{other}");
        }
    }
}
