//! What a route does to requests and responses, in Envoy's words.

use mcwan_policy::wire::{Header, HeaderModifier};
use mcwan_policy::{PORT_HEADER, STEERING_HEADER};
use serde_json::{Value, json};

use crate::api::{Cors, Duration};
use crate::json::put;
use crate::problem::Problem;
use crate::translate::{Forwarding, Import};

use super::{Clusters, Scene, cluster, cluster_name};

/// Where a route stands and what it takes.
pub(super) struct Route {
    pub(super) name: String,
    pub(super) matcher: Value,
    /// The port that the far gateway is told.
    pub(super) port: u16,
    /// The host that requests get where their target has none of its own; none: the filter did it.
    pub(super) canonical_host: Option<String>,
}

/// A route to Envoy clusters by weight, each with what its backend asks for. What the rule asks for is
/// the same for all and taken from the first.
pub(super) fn route(
    route: &Route,
    backends: &[(String, u32, &Forwarding)],
    mirrors: &[Value],
    path: Option<Value>,
) -> Value {
    let Some((_, _, common)) = backends.first() else {
        return Value::Null;
    };
    let mut action = json!({
        "timeout": duration(common.timeouts.and_then(|timeouts| timeouts.request)),
        "retry_policy": retry_policy(common.timeouts.and_then(|timeouts| timeouts.backend_request)),
    });
    match backends {
        [(cluster, _, forwarding)] if forwarding.backend_headers.is_empty() => {
            put(&mut action, "cluster", json!(cluster));
            rewrite_host(&mut action, route, forwarding);
        }
        _ => {
            let clusters: Vec<_> = backends.iter().map(|backend| weighted(route, backend)).collect();
            put(&mut action, "weighted_clusters", json!({"clusters": clusters}));
        }
    }
    if !mirrors.is_empty() {
        put(&mut action, "request_mirror_policies", json!(mirrors));
    }
    if let Some(path) = path {
        put(&mut action, "regex_rewrite", path);
    }
    let mut rendered = with_own_headers(route, &action);
    change_headers(&mut rendered, "request", &common.rule_headers.request);
    change_headers(&mut rendered, "response", &common.rule_headers.response);
    if let Some(cors) = &common.cors {
        put(&mut rendered, "typed_per_filter_config", json!({"envoy.filters.http.cors": cors_policy(cors)}));
    }
    rendered
}

/// A route with what mcwan itself does to each request.
pub(super) fn with_own_headers(route: &Route, action: &Value) -> Value {
    let port = Header { name: PORT_HEADER.to_owned(), value: route.port.to_string() };
    json!({
        "name": route.name,
        "match": route.matcher,
        "route": action,
        "request_headers_to_add": [header(&port, "OVERWRITE_IF_EXISTS_OR_ADD")],
        "request_headers_to_remove": [STEERING_HEADER],
    })
}

fn weighted(route: &Route, (cluster, weight, forwarding): &(String, u32, &Forwarding)) -> Value {
    let mut backend = json!({"name": cluster, "weight": weight});
    rewrite_host(&mut backend, route, forwarding);
    change_headers(&mut backend, "request", &forwarding.backend_headers.request);
    change_headers(&mut backend, "response", &forwarding.backend_headers.response);
    backend
}

fn rewrite_host(place: &mut Value, route: &Route, forwarding: &Forwarding) {
    if let Some(host) = forwarding.hostname.as_ref().or(route.canonical_host.as_ref()) {
        put(place, "host_rewrite_literal", json!(host));
    }
}

/// Adds a modifier's changes to those that a route or weighted cluster has.
pub(super) fn change_headers(place: &mut Value, of: &str, modifier: &HeaderModifier) {
    let HeaderModifier { set, add, remove } = modifier;
    let set = set.iter().map(|line| header(line, "OVERWRITE_IF_EXISTS_OR_ADD"));
    let add = add.iter().map(|line| header(line, "APPEND_IF_EXISTS_OR_ADD"));
    extend(&mut place[format!("{of}_headers_to_add")], set.chain(add));
    extend(&mut place[format!("{of}_headers_to_remove")], remove.iter().map(|name| json!(name)));
}

/// Adds to a list that may not be there yet; adds no empty list.
fn extend(list: &mut Value, items: impl Iterator<Item = Value>) {
    let mut all = list.as_array().cloned().unwrap_or_default();
    all.extend(items);
    *list = json!(all);
}

fn header(Header { name, value }: &Header, append_action: &str) -> Value {
    // A `%` would begin a command of Envoy's.
    let value = value.replace('%', "%%");
    json!({"header": {"key": name, "value": value}, "append_action": append_action, "keep_empty_value": true})
}

/// Istio's default: two more tries, on another host, where no request was lost on the way.
pub(super) fn retry_policy(per_try: Option<Duration>) -> Value {
    let mut policy = json!({
        "retry_on": "connect-failure,refused-stream,unavailable,cancelled",
        "num_retries": 2,
        "retry_host_predicate": [{
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
            },
        }],
        "host_selection_retry_max_attempts": 5,
    });
    if let Some(timeout) = per_try {
        put(&mut policy, "per_try_timeout", json!(duration(Some(timeout))));
    }
    policy
}

/// Protobuf's form of a duration; none is Envoy's zero, which is no limit.
fn duration(duration: Option<Duration>) -> String {
    let milliseconds = duration.map(Duration::as_millis).unwrap_or_default();
    format!("{}.{:03}s", milliseconds / 1_000, milliseconds % 1_000)
}

/// The copies that a route sends, and the Envoy clusters for them.
pub(super) fn mirrors(
    scene: Scene<'_>,
    import: &Import,
    forwarding: &Forwarding,
    port: u16,
    clusters: &mut Clusters,
    problems: &mut Vec<Problem>,
) -> Vec<Value> {
    let mirror = |mirror: &crate::translate::Mirror| {
        let name = cluster_name(import, &mirror.destination, port);
        cluster::add(scene, import, &mirror.destination, port, name.clone(), clusters, problems);
        json!({
            "cluster": name,
            "runtime_fraction": {"default_value": {"numerator": mirror.per_million, "denominator": "MILLION"}},
            // The far gateway knows the canonical host, not `…-shadow`.
            "disable_shadow_host_suffix_append": true,
        })
    };
    forwarding.mirrors.iter().map(mirror).collect()
}

fn cors_policy(cors: &Cors) -> Value {
    let Cors { allow_origins, allow_credentials, allow_methods, allow_headers, expose_headers, max_age } = cors;
    let origin = |origin: &String| match origin.as_str() {
        exact if !exact.contains('*') => json!({"exact": exact}),
        pattern => {
            let parts: Vec<_> = pattern.split('*').map(escape).collect();
            json!({"safe_regex": {"regex": parts.join(".*")}})
        }
    };
    json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy",
        "allow_origin_string_match": allow_origins.iter().map(origin).collect::<Vec<_>>(),
        "allow_methods": allow_methods.join(","),
        "allow_headers": allow_headers.join(","),
        "expose_headers": expose_headers.join(","),
        "max_age": max_age.to_string(),
        "allow_credentials": allow_credentials.unwrap_or_default(),
        "forward_not_matching_preflights": false,
    })
}

/// A text as a regular expression that matches just it.
pub(super) fn escape(text: &str) -> String {
    let escaped = text.chars().flat_map(|character| {
        let backslash = (!character.is_alphanumeric() && character.is_ascii()).then_some('\\');
        backslash.into_iter().chain([character])
    });
    escaped.collect()
}
