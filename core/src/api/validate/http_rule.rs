//! What is wrong with a rule that neither its types nor [`crate::translate`] tell: the bounds that Gateway API has for
//! what a route will be told.

use mcwan_policy::{is_label, limits};

use super::check::Check;
use crate::api::limits as bounds;
use crate::api::{Cors, FilterType, HeaderModifier, HttpFilter, HttpMatch, HttpRule, Timeouts};
use crate::problem::{FieldPath, Reason};

/// The greatest weight of a backendRef.
const WEIGHT: u32 = 1_000_000;
/// Characters of a rule's name.
const RULE_NAME: usize = 253;
/// Filters of a rule or of a backend.
const FILTERS: usize = 16;
/// Characters of the value of a query parameter.
const QUERY_VALUE: usize = 1_024;
/// Origins and headers of a CORS filter.
const CORS_ITEMS: usize = 64;
/// What a method of a CORS filter may be.
const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"];

pub(super) fn check(check: &mut Check, field: &FieldPath, rule: &HttpRule) {
    if let Some(name) = &rule.name {
        check.length(field.field("name"), name, RULE_NAME);
    }
    for (index, http_match) in rule.matches.iter().enumerate() {
        check_match(check, &field.field("matches").index(index), http_match);
    }
    check_filters(check, &field.field("filters"), &rule.filters);
    for (index, backend) in rule.backend_refs.iter().enumerate() {
        let field = field.field("backendRefs").index(index);
        if backend.weight > WEIGHT {
            check.error(field.field("weight"), Reason::InvalidValue, format!("a weight is at most {WEIGHT}"));
        }
        check_filters(check, &field.field("filters"), &backend.filters);
    }
    for (index, fallback) in rule.sla.iter().flat_map(|sla| &sla.fallbacks).enumerate() {
        check.label(field.field("sla.fallbacks").index(index), fallback);
    }
    let fallbacks = rule.sla.as_ref().map_or(0, |sla| sla.fallbacks.len());
    check.count(field.field("sla.fallbacks"), fallbacks, bounds::FALLBACKS);
    if let Some(Timeouts { request: Some(request), backend_request: Some(backend_request) }) = rule.timeouts
        && request.as_millis() != 0
        && backend_request.as_millis() > request.as_millis()
    {
        let message = format!("{backend_request} is longer than the request's {request}");
        check.error(field.field("timeouts.backendRequest"), Reason::InvalidValue, message);
    }
}

fn check_match(check: &mut Check, field: &FieldPath, http_match: &HttpMatch) {
    for (index, header) in http_match.headers.iter().enumerate() {
        check.length(field.field("headers").index(index).field("value"), &header.value, limits::VALUE_BYTES);
    }
    for (index, param) in http_match.query_params.iter().enumerate() {
        check.length(field.field("queryParams").index(index).field("value"), &param.value, QUERY_VALUE);
    }
}

fn check_filters(check: &mut Check, list: &FieldPath, filters: &[HttpFilter]) {
    check.count(list.clone(), filters.len(), FILTERS);
    for (index, filter) in filters.iter().enumerate() {
        let field = list.index(index);
        for (name, modifier) in [
            ("requestHeaderModifier", &filter.request_header_modifier),
            ("responseHeaderModifier", &filter.response_header_modifier),
        ] {
            if let Some(modifier) = modifier {
                check_modifier(check, &field.field(name), modifier);
            }
        }
        let redirect = filter.request_redirect.as_ref().and_then(|redirect| redirect.hostname.as_deref());
        let rewrite = filter.url_rewrite.as_ref().and_then(|rewrite| rewrite.hostname.as_deref());
        for (name, hostname) in [("requestRedirect.hostname", redirect), ("urlRewrite.hostname", rewrite)] {
            if let Some(hostname) = hostname.filter(|hostname| !is_host(hostname)) {
                let message = format!("`{hostname}` is not a hostname: want lower-case DNS labels");
                check.error(field.field(name), Reason::InvalidValue, message);
            }
        }
        if let Some(cors) = filter.cors.as_ref().filter(|_| filter.r#type == FilterType::Cors) {
            check_cors(check, &field.field("cors"), cors);
        }
    }
}

fn check_modifier(check: &mut Check, field: &FieldPath, modifier: &HeaderModifier) {
    let HeaderModifier { set, add, remove } = modifier;
    for (list, headers) in [("set", set), ("add", add)] {
        let list = field.field(list);
        for (index, header) in headers.iter().enumerate() {
            check.length(list.index(index).field("value"), &header.value, limits::VALUE_BYTES);
        }
        check.distinct(list, "name", headers.iter().map(|header| &header.name));
    }
    check.distinct_items(&field.field("remove"), remove);
}

fn check_cors(check: &mut Check, field: &FieldPath, cors: &Cors) {
    let Cors { allow_origins, allow_credentials: _, allow_methods, allow_headers, expose_headers, max_age: _ } = cors;
    let lone_star = |check: &mut Check, name: &'static str, list: &[String]| {
        if list.len() > 1 && list.iter().any(|item| item == "*") {
            check.error(field.field(name), Reason::InvalidValue, "`*` stands alone or not at all");
        }
    };
    lone_star(check, "allowOrigins", allow_origins);
    lone_star(check, "allowMethods", allow_methods);
    lone_star(check, "allowHeaders", allow_headers);
    check_items(check, &field.field("allowOrigins"), allow_origins, is_origin);
    check_items(check, &field.field("allowMethods"), allow_methods, |method| METHODS.contains(&method));
    check_items(check, &field.field("allowHeaders"), allow_headers, is_header_name);
    check_items(check, &field.field("exposeHeaders"), expose_headers, is_header_name);
}

fn check_items(check: &mut Check, list: &FieldPath, items: &[String], is_sound: fn(&str) -> bool) {
    check.count(list.clone(), items.len(), CORS_ITEMS);
    check.distinct_items(list, items);
    for (index, item) in items.iter().enumerate().filter(|(_, item)| !is_sound(item)) {
        check.error(list.index(index), Reason::InvalidValue, format!("{item:?} cannot stand here"));
    }
}

fn is_host(text: &str) -> bool {
    text.len() <= limits::HOST_BYTES && text.split('.').all(is_label)
}

/// A header's name (RFC 9110, section 5.6.2, `token`).
fn is_header_name(text: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=limits::NAME_BYTES).contains(&text.len()) && text.bytes().all(sound)
}

/// `*`, or a scheme and a host that may be `*` or begin with it, and perhaps a port (Gateway API, `CORSOrigin`).
fn is_origin(text: &str) -> bool {
    let Some(authority) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return text == "*";
    };
    let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
    let labels = host.strip_prefix("*.").unwrap_or(host);
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_port = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= limits::HOST_BYTES && is_port && (host == "*" || labels.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::problem::ObjectRef;

    /// The fields of a rule that are wrong.
    fn wrong(rule: Value) -> Vec<String> {
        let rule: HttpRule = serde_json::from_value(rule).unwrap();
        let mut found = Check::new(ObjectRef::namespaced("ServiceImport", "secure", "payment"));
        check(&mut found, &"rule".into(), &rule);
        found.problems.into_iter().map(|problem| problem.field.to_string()).collect()
    }

    #[test]
    fn what_a_route_is_told_is_within_its_bounds() {
        let modifier =
            |lines: Value| json!({"filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": lines}]});
        let rewrite =
            |hostname: &str| json!({"filters": [{"type": "URLRewrite", "urlRewrite": {"hostname": hostname}}]});
        let param = |length: usize| {
            let param = json!({"name": "a", "value": "é".repeat(length)});
            json!({"matches": [{"queryParams": [param]}]})
        };
        let filters = |count: usize| json!({"filters": vec![json!({"type": "URLRewrite", "urlRewrite": {}}); count]});
        let table = [
            (json!({"name": "a".repeat(253)}), None, "the longest name"),
            (json!({"name": "a".repeat(254)}), Some("rule.name"), "too long a name"),
            (param(1024), None, "the longest value, in characters"),
            (param(1025), Some("rule.matches[0].queryParams[0].value"), "too long a value"),
            (filters(16), None, "16 filters"),
            (filters(17), Some("rule.filters"), "17 filters"),
            (rewrite("a.example.com"), None, "a host"),
            (rewrite("*.example.com"), Some("rule.filters[0].urlRewrite.hostname"), "a wildcard to rewrite to"),
            (modifier(json!({"remove": ["a", "b"]})), None, "two names to remove"),
            (
                modifier(json!({"remove": ["a", "a"]})),
                Some("rule.filters[0].requestHeaderModifier.remove[1]"),
                "one name to remove twice",
            ),
        ];
        for (rule, expected, message) in table {
            assert_eq!(wrong(rule), Vec::from_iter(expected), "{message}");
        }
    }

    #[test]
    fn a_cors_filter_is_one_that_httproute_takes() {
        let table = [
            (json!({"allowOrigins": ["*"]}), None, "every origin"),
            (json!({"allowOrigins": ["http://a", "https://*.a.b:8443", "http://*"]}), None, "origins"),
            (json!({"allowOrigins": ["*", "http://a"]}), Some("allowOrigins"), "every origin, and one"),
            (json!({"allowOrigins": ["ftp://a"]}), Some("allowOrigins[0]"), "another scheme"),
            (json!({"allowOrigins": ["https://a/"]}), Some("allowOrigins[0]"), "a path"),
            (json!({"allowOrigins": ["https://a:"]}), Some("allowOrigins[0]"), "a port without number"),
            (json!({"allowOrigins": ["https://a..b"]}), Some("allowOrigins[0]"), "an empty label"),
            (json!({"allowMethods": ["GET", "PATCH"]}), None, "methods"),
            (json!({"allowMethods": ["GET", "*"]}), Some("allowMethods"), "every method, and one"),
            (json!({"allowMethods": ["FETCH"]}), Some("allowMethods[0]"), "no method"),
            (json!({"allowHeaders": ["*", "a"]}), Some("allowHeaders"), "every header, and one"),
            (json!({"exposeHeaders": ["*", "a"]}), None, "here HTTPRoute has no such rule"),
            (json!({"exposeHeaders": ["a b"]}), Some("exposeHeaders[0]"), "no header"),
        ];
        for (cors, expected, message) in table {
            let expected = expected.map(|field| format!("rule.filters[0].cors.{field}"));
            assert_eq!(
                wrong(json!({"filters": [{"type": "CORS", "cors": cors}]})),
                Vec::from_iter(expected),
                "{message}"
            );
        }
    }
}
