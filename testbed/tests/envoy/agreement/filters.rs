//! Filters of rules and backends, as they are written.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::imports::Name;
use super::json::object;

/// By what the matches of a rule ask for paths.
#[derive(Clone, Copy)]
pub(crate) enum Paths {
    /// Prefixes alone: only these can be replaced.
    Prefixes,
    Any,
}

/// Filters of a rule that forwards.
pub(crate) fn of_rule(name: Name, paths: Paths) -> impl Strategy<Value = Vec<Value>> {
    let refused = select(vec![
        json!({"type": "ExtensionRef", "extensionRef": {"group": "example.com", "kind": "Filter", "name": "f"}}),
        json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": ["x-mcwan-target"]}}),
        json!({"type": "URLRewrite", "urlRewrite": {"hostname": "elsewhere.example.com", "path": {
            "type": "ReplaceFullPath", "replaceFullPath": "/a?b"}}}),
    ]);
    let filters = (
        option::weighted(0.2, request_headers()),
        option::weighted(0.2, response_headers()),
        option::weighted(0.5, rewrite(name, paths)),
    );
    prop_oneof![
        40 => filters.prop_map(|(request, response, rewrite)| [request, response, rewrite].into_iter().flatten().collect()),
        1 => refused.prop_map(|filter| vec![filter]),
    ]
}

/// Filters of a backend.
pub(crate) fn of_backend(name: Name, paths: Paths) -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![10 => of_rule(name, paths), 1 => with_redirect(paths)]
}

/// Filters of a rule that redirects.
pub(crate) fn with_redirect(paths: Paths) -> impl Strategy<Value = Vec<Value>> {
    (option::weighted(0.4, response_headers()), redirect(paths), option::weighted(0.1, request_headers()))
        .prop_map(|(response, redirect, request)| response.into_iter().chain([redirect]).chain(request).collect())
}

fn request_headers() -> impl Strategy<Value = Value> {
    modifier(["X-A", "x-b", "x-new"], ["x-a", "X-B", "x-extra"], ["X-a", "x-Longer-Name", "user-agent"])
        .prop_map(|modifier| json!({"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}))
}

fn response_headers() -> impl Strategy<Value = Value> {
    modifier(["x-set", "Cache-Control", "Location"], ["x-add", "X-Set", "x-B"], ["content-type", "x-add", "x-none"])
        .prop_map(|modifier| json!({"type": "ResponseHeaderModifier", "responseHeaderModifier": modifier}))
}

/// Changes to some of these headers each.
fn modifier(set: [&'static str; 3], add: [&'static str; 3], remove: [&'static str; 3]) -> impl Strategy<Value = Value> {
    let lines = |names: [&'static str; 3]| {
        let value = select(&["new", "1", "a, b", "50%", "%REQ(x-a)%", "caf\u{e9}", "a \"b\" c"][..]);
        (subsequence(names.to_vec(), 0..=2), value).prop_map(|(names, value)| {
            let lines = names.into_iter().map(|name| json!({"name": name, "value": value}));
            lines.collect::<Vec<_>>()
        })
    };
    (lines(set), lines(add), subsequence(remove.to_vec(), 0..=2))
        .prop_map(|(set, add, remove)| json!({"set": set, "add": add, "remove": remove}))
}

fn rewrite(Name { namespace, name }: Name, paths: Paths) -> impl Strategy<Value = Value> {
    // The first two are those that the far gateway knows.
    let hostname = select(vec![
        format!("{name}.{namespace}.svc.cluster.local"),
        format!("{name}.{namespace}.svc.clusterset.local"),
        "legacy.example.com".to_owned(),
    ]);
    (option::weighted(0.3, hostname), option::weighted(0.9, path(paths))).prop_map(|(hostname, path)| {
        let rewrite = object([("hostname", hostname.map(Value::from)), ("path", path)]);
        json!({"type": "URLRewrite", "urlRewrite": rewrite})
    })
}

fn redirect(paths: Paths) -> impl Strategy<Value = Value> {
    let fields = (
        option::of(select(&["http", "https"][..])),
        option::of(select(&["www.example.com", "a-b"][..])),
        option::of(path(paths)),
        option::of(select(&[80, 443, 8080, 8443][..])),
        option::of(select(&[301, 302, 303, 307, 308][..])),
    );
    fields.prop_map(|(scheme, hostname, path, port, status)| {
        let redirect = object([
            ("scheme", scheme.map(Value::from)),
            ("hostname", hostname.map(Value::from)),
            ("path", path),
            ("port", port.map(Value::from)),
            ("statusCode", status.map(Value::from)),
        ]);
        json!({"type": "RequestRedirect", "requestRedirect": redirect})
    })
}

/// What becomes of a path.
fn path(paths: Paths) -> impl Strategy<Value = Value> {
    let full = select(&["/", "/full", "/full/", "/a%20b;c=$1&(d)"][..])
        .prop_map(|path| json!({"type": "ReplaceFullPath", "replaceFullPath": path}));
    let prefix = select(&["", "/", "/new", "/new/", "/a/b", "/a%20b;c=$1&(d)"][..])
        .prop_map(|path| json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": path}));
    match paths {
        Paths::Prefixes => prop_oneof![1 => full, 2 => prefix],
        Paths::Any => prop_oneof![30 => full, 1 => prefix],
    }
}
