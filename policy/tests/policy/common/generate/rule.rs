//! Rules and matches.

use mcwan_policy::wire::{Match, Method, PathMatch, Rule, Value, ValueMatch};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::action::actions;

/// Hosts that rules name: exact and not, new ones and such that an import has in another way.
const HOSTS: &[&str] = &["www.example.com", "pay.example.com", "*.example.com", "payment.secure"];

/// Paths that share prefixes, differ in a slash or in case, or are escaped.
pub(super) const PATHS: &[&str] =
    &["/", "/a", "/a/", "/ab", "/A", "/a/b", "/a/b/", "/a/b/c", "/a.b", "/a%20b", "/a%2Db", "/ab/b", "/b", "/b/a"];

/// Patterns over paths, each with texts that it matches.
pub(super) const PATH_PATTERNS: &[(&str, &[&str])] = &[
    (".*", &["/", "/a/b"]),
    ("/a.*", &["/a", "/ab", "/a/b"]),
    ("/a/[^/]+", &["/a/b", "/a/%20"]),
    ("/(a|ab)", &["/a", "/ab"]),
    ("/a|/b", &["/a", "/b"]),
    ("/a/b/?", &["/a/b", "/a/b/"]),
    ("/a?b", &["/b", "/ab"]),
    ("/[ab]{2}", &["/ab", "/bb"]),
    ("/(a/)+b", &["/a/b", "/a/a/b"]),
    ("a", &["/"]),
];

/// Patterns over values, each with texts that it matches.
pub(super) const VALUE_PATTERNS: &[(&str, &[&str])] = &[
    ("[0-9]+", &["1", "22"]),
    ("1|2", &["1", "2"]),
    ("a*", &["", "aa"]),
    (".+", &["1,2", "a"]),
    ("^(.*?;)?(user=test)(;.*)?$", &["user=test", "a=b;user=test;c=d"]),
];

pub(super) const VALUES: &[&str] = &["1", "2", "a", "A", "1,2", "%31", "a=b"];

/// A rule. Where an action replaces a prefix all of its matches have prefixes, or none has: the
/// specification leaves open what becomes of a mixture.
pub(super) fn rule() -> impl Strategy<Value = Rule> {
    let any = || option::weighted(0.9, prop_oneof![2 => exact(), 4 => prefix(), 2 => regex()]).boxed();
    let prefixes = || option::weighted(0.9, prefix()).boxed();
    let others = || prop_oneof![exact(), regex()].prop_map(Some).boxed();
    prop_oneof![
        3 => rule_with(any(), false),
        3 => rule_with(prefixes(), true),
        1 => rule_with(others(), true),
    ]
}

fn rule_with(path: BoxedStrategy<Option<PathMatch>>, replaces_prefix: bool) -> impl Strategy<Value = Rule> {
    let ports = prop_oneof![3 => Just(Vec::new()), 1 => vec(select(&[80, 8080, 15_021, 65_021]), 1..3)];
    let host = option::weighted(0.2, select(HOSTS).prop_map(str::to_owned));
    (host, ports, vec(alternative(path), 0..4), actions(replaces_prefix))
        .prop_map(|(host, ports, matches, actions)| Rule { host, ports, matches, actions })
}

fn alternative(path: BoxedStrategy<Option<PathMatch>>) -> impl Strategy<Value = Match> {
    let method = option::weighted(0.3, select(&[Method::Get, Method::Head, Method::Post]));
    let headers = prop_oneof![3 => Just(Vec::new()), 2 => vec(header(), 1..4)];
    let query_params = prop_oneof![3 => Just(Vec::new()), 2 => vec(query_param(), 1..4)];
    (path, method, headers, query_params).prop_map(|(path, method, headers, query_params)| Match {
        path,
        method,
        headers,
        query_params,
    })
}

fn exact() -> impl Strategy<Value = PathMatch> {
    select(PATHS).prop_map(|path| PathMatch::Exact(path.to_owned()))
}

fn prefix() -> impl Strategy<Value = PathMatch> {
    let by_element = select(PATHS).prop_map(|path| PathMatch::Prefix(path.to_owned()));
    let raw =
        select(PATHS).prop_map(|path| PathMatch::RawPrefix(format!("{}/", path.strip_suffix('/').unwrap_or(path))));
    prop_oneof![3 => by_element, 1 => raw]
}

fn regex() -> impl Strategy<Value = PathMatch> {
    select(PATH_PATTERNS).prop_map(|(pattern, _)| PathMatch::Regex((*pattern).to_owned()))
}

/// Often of a name that another header has too.
fn header() -> impl Strategy<Value = ValueMatch> {
    let name = prop_oneof![3 => Just("x-a"), 2 => Just("X-A"), 1 => select(&["x-b", "cookie", "Host"])];
    (name, value()).prop_map(|(name, value)| named(name, value))
}

/// Often of a name that another parameter has too.
fn query_param() -> impl Strategy<Value = ValueMatch> {
    let name = prop_oneof![3 => Just("q"), 1 => select(&["Q", "r"])];
    (name, value()).prop_map(|(name, value)| named(name, value))
}

fn named(name: &str, value: Value) -> ValueMatch {
    ValueMatch { name: name.to_owned(), value }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Exact("1".to_owned())),
        2 => select(VALUES).prop_map(|value| Value::Exact(value.to_owned())),
        1 => select(VALUE_PATTERNS).prop_map(|(pattern, _)| Value::Regex((*pattern).to_owned())),
    ]
}
