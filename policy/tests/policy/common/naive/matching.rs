//! Gateway API, `HTTPRouteMatch`: a match holds if everything that it gives holds.

use mcwan_policy::wire::{Match, PathMatch, Value, ValueMatch};
use regex_lite::Regex;

use super::super::Asked;

pub(super) fn holds(alternative: &Match, request: &Asked) -> bool {
    path_holds(alternative, request)
        && method_holds(alternative, request)
        && distinct_headers(alternative).iter().all(|header| header_holds(header, request))
        && distinct_query_params(alternative).iter().all(|param| param_holds(param, request))
}

/// Whether the path of a match holds; without one it is the prefix `/`.
pub(crate) fn path_holds(alternative: &Match, request: &Asked) -> bool {
    let path = path_of(request);
    match &alternative.path {
        None => true,
        Some(PathMatch::Exact(value)) => path == value.as_bytes(),
        Some(PathMatch::Prefix(value)) => {
            let elements = |path: &[u8]| path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect::<Vec<_>>();
            elements(path).starts_with(&elements(without_trailing_slash(value).as_bytes()))
        }
        Some(PathMatch::RawPrefix(value)) => path.starts_with(value.as_bytes()),
        Some(PathMatch::Regex(pattern)) => matches_whole(pattern, path),
    }
}

fn method_holds(alternative: &Match, request: &Asked) -> bool {
    let Some(method) = alternative.method else { return true };
    let name = serde_json::to_value(method).expect("a method prints");
    request.method.as_deref() == name.as_str().map(str::as_bytes)
}

/// Of equal names, in any case, the first one counts.
pub(super) fn distinct_headers(alternative: &Match) -> Vec<&ValueMatch> {
    distinct(&alternative.headers, str::eq_ignore_ascii_case)
}

/// Of equal names the first one counts.
pub(super) fn distinct_query_params(alternative: &Match) -> Vec<&ValueMatch> {
    distinct(&alternative.query_params, |one, other| one == other)
}

fn distinct(all: &[ValueMatch], same: impl Fn(&str, &str) -> bool) -> Vec<&ValueMatch> {
    let is_first = |index: &usize| !all[..*index].iter().any(|earlier| same(&earlier.name, &all[*index].name));
    (0..all.len()).filter(is_first).map(|index| &all[index]).collect()
}

/// Any line may match; lines are not joined. `Host` is the authority as it was sent.
fn header_holds(header: &ValueMatch, request: &Asked) -> bool {
    if header.name.eq_ignore_ascii_case("host") {
        return request.authority.as_ref().is_some_and(|authority| value_holds(&header.value, authority));
    }
    let lines = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(header.name.as_bytes()));
    lines.into_iter().any(|(_, value)| value_holds(&header.value, value))
}

/// The first value of a name counts; nothing is decoded.
fn param_holds(param: &ValueMatch, request: &Asked) -> bool {
    let Some(query) = query_of(request) else { return false };
    let pairs = query.split(|byte| *byte == b'&').map(|segment| {
        let equals = segment.iter().position(|byte| *byte == b'=');
        equals.map_or((segment, &b""[..]), |equals| (&segment[..equals], &segment[equals + 1..]))
    });
    let first = pairs.into_iter().find(|(name, _)| *name == param.name.as_bytes());
    first.is_some_and(|(_, value)| value_holds(&param.value, value))
}

fn value_holds(value: &Value, bytes: &[u8]) -> bool {
    match value {
        Value::Exact(value) => value.as_bytes() == bytes,
        Value::Regex(pattern) => matches_whole(pattern, bytes),
    }
}

/// As in Envoy, a character is a byte, of the pattern and of the value.
fn matches_whole(pattern: &str, bytes: &[u8]) -> bool {
    let characters = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
    let pattern = characters(pattern.as_bytes());
    let whole = Regex::new(&format!(r"\A(?:{pattern})\z")).expect("patterns of a sound import compile");
    whole.is_match(&characters(bytes))
}

pub(super) fn without_trailing_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// The path ends where a query or a fragment begins.
pub(super) fn path_of(request: &Asked) -> &[u8] {
    let whole = request.path.as_deref().unwrap_or_default();
    &whole[..whole.iter().position(|byte| b"?#".contains(byte)).unwrap_or(whole.len())]
}

/// What is between the first `?` and a `#`.
pub(super) fn query_of(request: &Asked) -> Option<&[u8]> {
    let rest = &request.path.as_deref().unwrap_or_default()[path_of(request).len()..];
    let query = rest.strip_prefix(b"?")?;
    Some(&query[..query.iter().position(|byte| *byte == b'#').unwrap_or(query.len())])
}
