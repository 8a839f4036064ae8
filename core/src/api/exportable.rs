//! Which labels and annotations go with an exported Service (KEP-1645, `exportedLabels`, `exportedAnnotations`).
//!
//! The Multi-Cluster Services API checks none of them, and an API server refuses the whole `ServiceImport` that has a bad
//! one. Those by which controllers steer are not one cluster's to set in another.

use mcwan_policy::{is_label, limits};

/// The domains of those who steer by labels and annotations.
const RESERVED: [&str; 5] = ["kubernetes.io", "k8s.io", "x-k8s.io", "istio.io", super::GROUP];

/// Whether Kubernetes takes it as the key of a label or an annotation ("Labels and Selectors", syntax).
pub fn is_key(key: &str) -> bool {
    let (domain, name) = split(key);
    let is_domain = |domain: &str| domain.len() <= limits::HOST_BYTES && domain.split('.').all(is_label);
    is_name(name) && domain.is_none_or(is_domain)
}

/// Whether Kubernetes takes it as the value of a label.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

/// Whether others steer by labels and annotations of this key.
pub fn is_reserved(key: &str) -> bool {
    let is_below = |domain: &str, reserved: &str| {
        domain.strip_suffix(reserved).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    };
    split(key).0.is_some_and(|domain| RESERVED.iter().any(|reserved| is_below(domain, reserved)))
}

/// The domain of a key, where it has one, and its name.
fn split(key: &str) -> (Option<&str>, &str) {
    key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name))
}

/// Whether it is a name, or a label's value (Kubernetes, "Labels and Selectors", syntax).
fn is_name(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    bytes.len() <= limits::LABEL_BYTES && bytes.iter().all(is_inner) && is_end(bytes.first()) && is_end(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_api_server_would_refuse_and_what_others_steer_by_stays_here() {
        let long = "a".repeat(64);
        let table = [
            ("team", "payments", true, "a plain one"),
            ("example.com/Team_1.x", "", true, "a domain, and no value"),
            ("bad key!", "a", false, "a space"),
            ("", "a", false, "no key"),
            ("-a", "a", false, "a bad end"),
            (&long, "a", false, "a long name"),
            ("a/b/c", "a", false, "two slashes"),
            ("Example.com/a", "a", false, "a domain in upper case"),
            ("/a", "a", false, "no domain"),
            ("team", &long, false, "a long value"),
            ("team", "a b", false, "a bad value"),
            ("app.kubernetes.io/name", "a", false, "Kubernetes'"),
            ("multicluster.x-k8s.io/a", "a", false, "of Kubernetes' special interest groups"),
            ("istio.io/rev", "a", false, "Istio's"),
            ("mc-wan.l7mp.io/import", "a", false, "ours"),
            ("myk8s.io/a", "a", true, "one that ends like it"),
        ];
        for (key, value, is_taken, row) in table {
            assert_eq!(is_key(key) && is_label_value(value) && !is_reserved(key), is_taken, "{row}");
        }
    }
}
