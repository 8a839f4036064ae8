//! The matches of an `HTTPRoute`.

use mcwan_policy::trim_prefix;
use mcwan_policy::wire::{Match, PathMatch, Rule, Value as Pattern, ValueMatch};
use serde_json::{Value, json};

use crate::json::put;
use crate::problem::{FieldPath, Problem, Reason};
use crate::translate::Import;

/// Bytes of the value of a query parameter (Gateway API, `HTTPQueryParamMatch`).
const QUERY_VALUE_BYTES: usize = 1_024;

/// The match of every request.
pub(super) fn everything() -> Value {
    json!({"path": {"type": "PathPrefix", "value": "/"}})
}

/// The alternatives of a rule.
pub(super) fn render(rule: &Rule) -> Vec<Value> {
    if rule.matches.is_empty() {
        return vec![everything()];
    }
    rule.matches.iter().map(alternative).collect()
}

/// The prefix that a match asks for, without its trailing `/`.
pub(super) fn prefix(alternative: &Match) -> &str {
    match &alternative.path {
        Some(PathMatch::Prefix(prefix)) => trim_prefix(prefix),
        Some(PathMatch::Exact(_) | PathMatch::Regex(_) | PathMatch::RawPrefix(_)) | None => "",
    }
}

/// Reports the matches that no `HTTPRoute` can say. If there are any, the import must refuse everything: without
/// them others would match more.
pub(super) fn report(import: &Import, problems: &mut Vec<Problem>) -> bool {
    let mut is_broken = false;
    for (rule, Rule { matches, .. }) in import.wire.rules.iter().enumerate() {
        for (index, alternative) in matches.iter().enumerate() {
            if let Some(message) = unsayable(alternative) {
                let field = FieldPath::from("matches").index(index);
                problems.push(import.rule_error(rule, field, Reason::InvalidMatch, message));
                is_broken = true;
            }
        }
    }
    is_broken
}

fn unsayable(alternative: &Match) -> Option<String> {
    let Match { path, method: _, headers, query_params } = alternative;
    if let Some(PathMatch::RawPrefix(prefix)) = path {
        return Some(format!(
            "an HTTPRoute cannot match what begins with {prefix} without matching {}",
            trim_prefix(prefix)
        ));
    }
    if let Some(header) = headers.iter().find(|header| text(&header.value).is_empty()) {
        return Some(format!("an HTTPRoute cannot match an empty value of header {:?}", header.name));
    }
    let is_sayable = |param: &&ValueMatch| {
        let value = text(&param.value);
        is_token(&param.name) && !value.is_empty() && value.len() <= QUERY_VALUE_BYTES
    };
    let param = query_params.iter().find(|param| !is_sayable(param))?;
    Some(format!("an HTTPRoute cannot match this name or value of query parameter {:?}", param.name))
}

/// Whether a name is made as a header's (Gateway API, `HTTPHeaderName`, which names of parameters are, too).
fn is_token(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(sound)
}

fn alternative(Match { path, method, headers, query_params }: &Match) -> Value {
    let (kind, value) = match path {
        None => ("PathPrefix", "/"),
        Some(PathMatch::Exact(path)) => ("Exact", path.as_str()),
        Some(PathMatch::Prefix(prefix) | PathMatch::RawPrefix(prefix)) => ("PathPrefix", prefix.as_str()),
        Some(PathMatch::Regex(pattern)) => ("RegularExpression", pattern.as_str()),
    };
    let mut rendered = json!({"path": {"type": kind, "value": value}});
    if let Some(method) = method {
        put(&mut rendered, "method", method.as_str());
    }
    for (field, values) in [("headers", headers), ("queryParams", query_params)] {
        if !values.is_empty() {
            put(&mut rendered, field, values.iter().map(value_match).collect::<Vec<_>>());
        }
    }
    rendered
}

fn value_match(ValueMatch { name, value }: &ValueMatch) -> Value {
    let kind = match value {
        Pattern::Exact(_) => "Exact",
        Pattern::Regex(_) => "RegularExpression",
    };
    json!({"type": kind, "name": name, "value": text(value)})
}

fn text(value: &Pattern) -> &str {
    match value {
        Pattern::Exact(text) | Pattern::Regex(text) => text,
    }
}
