//! Rules, as they are written.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::filters::{self, Paths};
use super::imports::Name;
use super::json::object;
use super::words;

/// A rule of an import.
pub(crate) fn rule(name: Name) -> impl Strategy<Value = Value> {
    let any_path = prop_oneof![
        2 => Just(None),
        4 => path("PathPrefix").prop_map(Some),
        3 => path("Exact").prop_map(Some),
        3 => words::path_pattern().prop_map(|pattern| Some(json!({"type": "RegularExpression", "value": pattern}))),
    ];
    let prefix = option::weighted(0.9, path("PathPrefix"));
    let by_any_path = (vec(http_match(name, any_path), 0..=3), action(name, Paths::Any));
    let by_prefix = (vec(http_match(name, prefix), 1..=3), action(name, Paths::Prefixes));
    prop_oneof![by_any_path, by_prefix]
        .prop_map(|(matches, action)| object([("matches", Some(json!(matches)))].into_iter().chain(action)))
}

/// The fields of a rule that say what is done.
fn action(name: Name, paths: Paths) -> impl Strategy<Value = Vec<(&'static str, Option<Value>)>> {
    let timeouts = select(vec![
        json!({"request": "10s"}),
        json!({"request": "0s"}),
        json!({"request": "20s", "backendRequest": "10s"}),
    ]);
    let backends = vec(backend(name, paths), 1..=3);
    let forward = (backends, filters::of_rule(name, paths), option::weighted(0.2, timeouts)).prop_map(
        |(backends, filters, timeouts)| {
            vec![("backendRefs", Some(json!(backends))), ("filters", Some(json!(filters))), ("timeouts", timeouts)]
        },
    );
    let redirect = filters::with_redirect(paths).prop_map(|filters| vec![("filters", Some(json!(filters)))]);
    prop_oneof![20 => forward, 5 => redirect, 1 => Just(Vec::new())]
}

fn path(kind: &'static str) -> impl Strategy<Value = Value> {
    words::path().prop_map(move |path| json!({"type": kind, "value": path}))
}

fn http_match(
    Name { namespace, name }: Name,
    path: impl Strategy<Value = Option<Value>>,
) -> impl Strategy<Value = Value> {
    let header = (words::header_name(), words::asked_value()).prop_map(value_match);
    let host = select(vec![
        json!({"name": "Host", "value": format!("{name}.{namespace}")}),
        json!({"name": "host", "type": "RegularExpression", "value": format!(r"{name}\..*[a-z]")}),
        json!({"name": "HOST", "type": "RegularExpression", "value": "[a-z0-9.-]+"}),
    ]);
    // What cannot be read breaks the whole import: 500 for each of its requests.
    let broken = Just(json!({"name": "x-a", "type": "RegularExpression", "value": "("}));
    let header = prop_oneof![300 => header, 50 => host, 1 => broken];
    let query_param = (words::query_name(), words::asked_value()).prop_map(value_match);
    (
        path,
        option::weighted(0.2, words::method()),
        option::weighted(0.3, vec(header, 1..=3)),
        option::weighted(0.3, vec(query_param, 1..=3)),
    )
        .prop_map(|(path, method, headers, query_params)| {
            object([
                ("path", path),
                ("method", method.map(Value::from)),
                ("headers", headers.map(Value::from)),
                ("queryParams", query_params.map(Value::from)),
            ])
        })
}

fn value_match((name, (kind, value)): (&str, (&str, &str))) -> Value {
    json!({"name": name, "type": kind, "value": value})
}

fn backend(Name { namespace, name }: Name, paths: Paths) -> impl Strategy<Value = Value> {
    let tier_service = |tier: &str| json!({"name": format!("{name}-{namespace}-{tier}"), "namespace": "mc-wan"});
    let policy = |name: &str| json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": name});
    let found = select(vec![
        tier_service("sd-wan-priority-high"),
        tier_service("sd-wan-priority-low"),
        policy("sd-wan-priority-high"),
        policy("sd-wan-priority-low"),
        json!({"name": "fallback"}),
        json!({"name": "fallback", "port": 8080}),
    ]);
    let refused = select(vec![
        tier_service("no-such-tier"),
        policy("withheld"),
        json!({"name": "no-such-service"}),
        json!({"name": "fallback", "port": 9999}),
        // One namespace admits one other.
        json!({"name": "fallback", "namespace": "secure"}),
        json!({"name": "fallback", "namespace": "shop"}),
    ]);
    let weight = option::weighted(0.5, select(&[0, 1, 1, 2, 9][..]));
    let filters = option::weighted(0.15, filters::of_backend(Name { namespace, name }, paths));
    (prop_oneof![12 => found, 1 => refused], weight, filters).prop_map(|(mut backend, weight, filters)| {
        if let Some(weight) = weight {
            backend["weight"] = json!(weight);
        }
        if let Some(filters) = filters {
            backend["filters"] = json!(filters);
        }
        backend
    })
}
