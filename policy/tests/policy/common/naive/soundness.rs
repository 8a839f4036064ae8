//! Which imports cannot be read: one such match refuses its whole import.

use mcwan_policy::wire::{Import, Match, PathMatch, Value, ValueMatch};
use regex_lite::Regex;

pub(super) fn is_sound(import: &Import) -> bool {
    import.rules.iter().flat_map(|rule| &rule.matches).all(match_is_sound)
}

fn match_is_sound(alternative: &Match) -> bool {
    let path = match &alternative.path {
        None => true,
        Some(PathMatch::Exact(value) | PathMatch::Prefix(value)) => path_value_is_sound(value),
        Some(PathMatch::RawPrefix(value)) => path_value_is_sound(value) && value.ends_with('/'),
        Some(PathMatch::Regex(pattern)) => Regex::new(pattern).is_ok(),
    };
    path && alternative.headers.iter().chain(&alternative.query_params).all(value_match_is_sound)
}

/// Gateway API, the validation of `HTTPPathMatch`.
fn path_value_is_sound(value: &str) -> bool {
    let forbidden_inside = ["//", "/./", "/../", "%2f", "%2F", "#"];
    let forbidden_at_the_end = ["/.", "/.."];
    value.starts_with('/')
        && !forbidden_inside.iter().any(|part| value.contains(part))
        && !forbidden_at_the_end.iter().any(|part| value.ends_with(part))
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-/._~!$&'()*+,;=:@%".contains(&byte))
        && value.split('%').skip(1).all(starts_with_two_hex_digits)
}

fn starts_with_two_hex_digits(text: &str) -> bool {
    text.len() >= 2 && text.bytes().take(2).all(|byte| byte.is_ascii_hexdigit())
}

/// Gateway API, the validation of `HeaderName`.
fn value_match_is_sound(part: &ValueMatch) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let value = match &part.value {
        Value::Exact(_) => true,
        Value::Regex(pattern) => Regex::new(pattern).is_ok(),
    };
    !part.name.is_empty() && part.name.bytes().all(token) && value
}
