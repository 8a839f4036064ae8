//! What a rule of an `HTTPRoute` does to requests and responses.
//!
//! Gateway API says less than mcwan does, and the API server refuses what it does not say: whatever asks for that is
//! refused by name.

use std::borrow::Cow;

use mcwan_policy::limits;
use mcwan_policy::wire::{Header, HeaderModifier};
use serde_json::{Value, json};

use crate::api::Cors;
use crate::json::put;
use crate::translate::{Forwarding, HeaderChanges, Import, Mirror};

use super::service::{reference, service};

/// Filters of one rule (Gateway API, `HTTPRouteRule`).
const RULE_FILTERS: usize = 16;
/// The share of requests that mirrors count in.
const MILLION: u32 = 1_000_000;

/// What an `HTTPRoute` cannot say, or istiod would not do.
#[derive(Debug)]
pub(super) struct Unsayable {
    pub(super) message: Cow<'static, str>,
}

impl Unsayable {
    pub(super) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into() }
    }
}

/// The filters of a rule: its changes to headers, what upstreams see as host and path, CORS and mirrors.
pub(super) fn filters(
    import: &Import,
    forwarding: &Forwarding,
    headers: &HeaderChanges,
    hostname: Option<&str>,
    path: Option<Value>,
    port: u16,
) -> Result<Vec<Value>, Unsayable> {
    let mut filters = header_filters(&headers.request, &headers.response)?;
    if hostname.is_some() || path.is_some() {
        let mut rewrite = json!({});
        if let Some(hostname) = hostname {
            put(&mut rewrite, "hostname", precise_hostname(hostname)?);
        }
        if let Some(path) = path {
            put(&mut rewrite, "path", path);
        }
        filters.push(json!({"type": "URLRewrite", "urlRewrite": rewrite}));
    }
    if let Some(cors) = &forwarding.cors {
        filters.push(json!({"type": "CORS", "cors": cors_filter(cors)?}));
    }
    filters.extend(forwarding.mirrors.iter().map(|mirror| mirror_filter(import, mirror, port)));
    if filters.len() > RULE_FILTERS {
        return Err(Unsayable::new(format!("an HTTPRoute's rule has at most {RULE_FILTERS} filters")));
    }
    Ok(filters)
}

/// The filters for changes to headers; none where nothing changes.
pub(super) fn header_filters(request: &HeaderModifier, response: &HeaderModifier) -> Result<Vec<Value>, Unsayable> {
    let mut filters = Vec::new();
    if *request != HeaderModifier::default() {
        filters.push(json!({"type": "RequestHeaderModifier", "requestHeaderModifier": modifier(request)?}));
    }
    if *response != HeaderModifier::default() {
        filters.push(json!({"type": "ResponseHeaderModifier", "responseHeaderModifier": modifier(response)?}));
    }
    Ok(filters)
}

fn modifier(modifier: &HeaderModifier) -> Result<Value, Unsayable> {
    let HeaderModifier { set, add, remove } = modifier;
    let mut filter = json!({});
    for (field, lines) in [("set", set), ("add", add)] {
        if !lines.is_empty() {
            put(&mut filter, field, header_lines(lines)?);
        }
    }
    let mut names: Vec<&String> = Vec::new();
    for name in remove {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    if names.len() > limits::MODIFIER_HEADERS {
        return Err(too_many_headers());
    }
    if !names.is_empty() {
        put(&mut filter, "remove", json!(names));
    }
    Ok(filter)
}

/// The lines of a modifier. A list of an `HTTPRoute` has each name once, and istiod gives values to Envoy as they
/// are, where a `%` begins a command.
fn header_lines(lines: &[Header]) -> Result<Vec<Value>, Unsayable> {
    if lines.len() > limits::MODIFIER_HEADERS {
        return Err(too_many_headers());
    }
    let mut rendered = Vec::with_capacity(lines.len());
    for (index, Header { name, value }) in lines.iter().enumerate() {
        if lines.iter().take(index).any(|earlier| earlier.name.eq_ignore_ascii_case(name)) {
            return Err(Unsayable::new(format!("an HTTPRoute's modifier cannot name header {name:?} twice")));
        }
        let value = value.replace('%', "%%");
        if value.is_empty() || value.len() > limits::VALUE_BYTES {
            return Err(Unsayable::new(format!("an HTTPRoute cannot give header {name:?} this value")));
        }
        rendered.push(json!({"name": name, "value": value}));
    }
    Ok(rendered)
}

fn too_many_headers() -> Unsayable {
    let most = limits::MODIFIER_HEADERS;
    Unsayable::new(format!("an HTTPRoute's modifier names at most {most} headers to set, add or remove"))
}

/// A host as rewrites and redirects may name it (Gateway API, `PreciseHostname`).
pub(super) fn precise_hostname(hostname: &str) -> Result<&str, Unsayable> {
    let sound = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    if hostname.len() <= limits::HOST_BYTES && hostname.split('.').all(sound) {
        return Ok(hostname);
    }
    Err(Unsayable::new(format!("an HTTPRoute cannot name the host {hostname:?}")))
}

fn mirror_filter(import: &Import, mirror: &Mirror, port: u16) -> Value {
    let Mirror { destination, per_million } = mirror;
    let mut filter = json!({"backendRef": reference(&service(import, destination, port))});
    match *per_million {
        MILLION => {}
        share if share % (MILLION / 100) == 0 => put(&mut filter, "percent", share / (MILLION / 100)),
        share => put(&mut filter, "fraction", json!({"numerator": share, "denominator": MILLION})),
    }
    json!({"type": "RequestMirror", "requestMirror": filter})
}

fn cors_filter(cors: &Cors) -> Result<Value, Unsayable> {
    let Cors { allow_origins, allow_credentials, allow_methods, allow_headers, expose_headers, max_age } = cors;
    let mut filter = json!({"maxAge": max_age});
    for (field, items) in
        [("allowOrigins", allow_origins), ("allowMethods", allow_methods), ("allowHeaders", allow_headers)]
    {
        if items.len() > 1 && items.iter().any(|item| item == "*") {
            return Err(Unsayable::new(format!("in an HTTPRoute's CORS filter, `*` stands alone in `{field}`")));
        }
        if !items.is_empty() {
            put(&mut filter, field, json!(items));
        }
    }
    if !expose_headers.is_empty() {
        put(&mut filter, "exposeHeaders", json!(expose_headers));
    }
    if let Some(allow) = allow_credentials {
        put(&mut filter, "allowCredentials", *allow);
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_modifier_is_one_that_an_api_server_takes() {
        let set = |set: Vec<Header>| HeaderModifier { set, ..HeaderModifier::default() };
        let many = (0..17).map(|number| line(&format!("x-{number}"), "1")).collect();
        let table = [
            (set(vec![line("x-a", "1")]), Some(json!({"set": [{"name": "x-a", "value": "1"}]})), "one line"),
            (
                set(vec![line("x-a", "5%")]),
                Some(json!({"set": [{"name": "x-a", "value": "5%%"}]})),
                "no command of Envoy's",
            ),
            (
                HeaderModifier { remove: vec!["x-a".into(), "X-A".into()], ..HeaderModifier::default() },
                Some(json!({"remove": ["x-a"]})),
                "removed once",
            ),
            (set(vec![line("x-a", "1"), line("X-A", "2")]), None, "a name twice"),
            (set(vec![line("x-a", "")]), None, "no value"),
            (set(many), None, "too many"),
        ];
        for (asked, expected, message) in table {
            assert_eq!(modifier(&asked).ok(), expected, "{message}");
        }
    }
}
