//! Imports, as they are written.

use mcwan_core::api::ServiceImport;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::json::object;
use super::rules::rule;

/// The namespaces that have imports; `shop` admits `secure` to its Services.
pub(crate) const NAMESPACES: [&str; 3] = ["secure", "shop", "a-b"];

/// Names of imports: some look like another one's hosts.
const NAMES: [&str; 24] = [
    "payment",
    "payment-clusterset",
    "payment-v2",
    "secure",
    "svc",
    "a",
    "b",
    "a-b",
    "a-b-c",
    "b-clusterset",
    "b-clusterset-clusterset",
    "cart",
    "stats",
    "ledger",
    "search",
    "x1",
    "x2",
    "x3",
    "x4",
    "x5",
    "x6",
    "x7",
    "x8",
    "x9",
];

/// How many imports a namespace has.
const EACH: usize = 20;

/// What an import is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
}

/// The names of all imports, the oldest first.
pub(crate) fn names() -> impl Strategy<Value = Vec<Name>> {
    let of_namespace = |namespace| {
        let names = subsequence(NAMES.to_vec(), EACH);
        names.prop_map(move |names| names.into_iter().map(|name| Name { namespace, name }).collect::<Vec<_>>())
    };
    NAMESPACES.map(of_namespace).prop_map(|names| names.concat()).prop_shuffle()
}

/// An import of this name.
pub(crate) fn service_import(name: Name) -> impl Strategy<Value = ServiceImport> {
    let hostname = select(vec![
        "pay.example.com".to_owned(),
        "*.example.com".to_owned(),
        "*.pay.example.com".to_owned(),
        format!("{}.example.org", name.name),
        format!("*.{}.example.org", name.name),
        "payment".to_owned(),
        "a.a-b".to_owned(),
    ]);
    let status = select(&[403, 404, 429, 503][..]).prop_map(|status| json!({"status": status}));
    let http = (option::of(status), vec(rule(name), 1..=8))
        .prop_map(|(no_match, rules)| object([("noMatch", no_match), ("rules", Some(json!(rules)))]));
    let http = prop_oneof![25 => http.prop_map(Some), 1 => Just(Some(json!({"rules": []}))), 1 => Just(None)];
    (vec(hostname, 0..=2), http).prop_map(move |(hostnames, http)| {
        let Name { namespace, name } = name;
        let import = json!({
            "apiVersion": "mc-wan.l7mp.io/v1alpha1",
            "kind": "ServiceImport",
            "metadata": {"name": name, "namespace": namespace},
            "spec": object([("hostnames", Some(Value::from(hostnames))), ("http", http)]),
        });
        serde_json::from_value(import.clone()).unwrap_or_else(|error| panic!("{error}: {import:#}"))
    })
}
