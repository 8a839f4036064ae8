//! The few words that rules and requests are made of, so that they meet, or nearly.
//!
//! What Envoy changes or refuses before any filter or route sees it is left out, as it would not
//! reach all data planes alike: dot segments, percent-encoded unreserved characters, `\`, `#`,
//! values that are not UTF-8, methods that are not in upper case.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const SEGMENTS: [&str; 8] = ["a", "ab", "b", "a.b", "a%20b", "caf%C3%A9", "a;b=1", "~+(b)!$&'*,@:"];

/// A path of a rule: segments, perhaps with a `/` at the end.
pub(crate) fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![6 => select(&SEGMENTS[..3]), 1 => select(&SEGMENTS[..])];
    (vec(segment, 0..=3), prop::bool::weighted(0.3)).prop_map(|(segments, slash)| {
        let end = if slash && !segments.is_empty() { "/" } else { "" };
        format!("/{}{end}", segments.join("/"))
    })
}

/// Expressions over paths.
pub(crate) fn path_pattern() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "/a",
            "/a|/b",
            "^/a/b$",
            "/a.b",
            "/a(/.*)?",
            "/[ab]+",
            "/[^/]*/b",
            "/(a|ab)(/(a|ab|b)){1,2}/?",
            ".*",
            "/.+",
            "(?s).*/",
            r"/\w+",
        ][..],
    )
}

pub(crate) fn method() -> impl Strategy<Value = &'static str> {
    select(&["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"][..])
}

/// Names of headers that rules look at and change.
pub(crate) fn header_name() -> impl Strategy<Value = &'static str> {
    select(&["x-a", "X-A", "x-b", "X-Longer-Name"][..])
}

/// Values of headers and of query parameters; all ASCII, as Envoy's expressions match bytes and ours
/// characters.
pub(crate) fn value() -> impl Strategy<Value = &'static str> {
    select(&["1", "2", "12", "a", "A", "1,2", "%31", "a=b", "a/b?c"][..])
}

/// How a value is compared, and with what.
pub(crate) fn asked_value() -> impl Strategy<Value = (&'static str, &'static str)> {
    let patterns = [
        "1|2",
        "[0-9]+",
        ".*",
        ".+",
        "^a$",
        "a|",
        "1,2",
        "(?U)a.*",
        "(.*;)?(a=b)(;.*)?",
        "[^,]*",
        "[[:alpha:]]",
        r"\d{1,2}",
        r"\w+",
        r"\w*\W",
        r"\b1\b.*",
        r"\x61.*",
        r"\D+?",
        "(?i)A[^=]*",
    ];
    prop_oneof![
        value().prop_map(|value| ("Exact", value)),
        select(patterns.to_vec()).prop_map(|pattern| ("RegularExpression", pattern))
    ]
}

pub(crate) fn query_name() -> impl Strategy<Value = &'static str> {
    select(&["q", "Q", "r", "q-1"][..])
}
