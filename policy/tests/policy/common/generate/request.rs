//! Requests near some imports.

use mcwan_policy::wire::{Import, Match, PathMatch, Value, ValueMatch};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::naive::host::hosts_of;
use super::super::{Asked, get};
use super::rule::{PATH_PATTERNS, PATHS, VALUE_PATTERNS, VALUES};

/// A small departure from the request that a match asks for.
#[derive(Clone, Debug)]
enum Change {
    Method(&'static str),
    Path(&'static str),
    AppendToPath(&'static str),
    PathInCapitals,
    WithoutQuery,
    Param(&'static str, &'static str),
    FirstParam(&'static str, &'static str),
    Line(&'static str, &'static str),
    WithoutLines,
    WithoutLastLine,
    JoinLines,
}

/// A request to a host of these imports, or to one beside them, that starts from one of their matches.
pub(crate) fn request_near(imports: &[Import]) -> impl Strategy<Value = Asked> + use<> {
    let hosts = imports.iter().flat_map(hosts_of);
    let hosts: Vec<String> = hosts.chain(["nobody.example.org".to_owned()]).collect();
    let mut matches: Vec<Match> =
        imports.iter().flat_map(|import| &import.rules).flat_map(|rule| rule.matches.clone()).collect();
    matches.push(Match::default());
    let listener =
        select(&[("http", 8080), ("http", 80), ("http", 443), ("https", 443), ("https", 8443), ("http", 65021)]);
    (host_near(hosts), select(matches), any::<Index>(), listener, vec(change(), 0..3)).prop_map(
        |(authority, alternative, example, (scheme, port), changes)| {
            let mut request = satisfying(&alternative, &authority, example).with_scheme(scheme).with_port(port);
            for change in changes {
                apply(&change, &mut request);
            }
            request
        },
    )
}

/// One of these hosts in some spelling, or one beside it.
fn host_near(hosts: Vec<String>) -> impl Strategy<Value = String> {
    type Spelling = fn(String) -> String;
    let same = select(&[
        (|host| host) as Spelling,
        |host| host.to_ascii_uppercase(),
        |host| format!("{host}:8080"),
        |host| format!("{host}."),
        |host| format!("{host}.:80"),
        |host| format!("{host}:65021"),
    ]);
    let beside = select(&[
        (|host| format!("x{host}")) as Spelling,
        |host| format!("{host}.x"),
        |host| format!("x.{host}"),
        |host| format!("{host}.."),
        |host| host.split_once('.').map_or(host.clone(), |(_, parent)| parent.to_owned()),
    ]);
    let label = select(&["a", "b.a", "pay", "payment"]);
    (select(hosts), label, prop_oneof![8 => same, 1 => beside]).prop_map(|(host, label, spelling)| {
        spelling(host.strip_prefix('*').map_or(host.clone(), |rest| format!("{label}{rest}")))
    })
}

fn change() -> impl Strategy<Value = Change> {
    let param = (select(&["q", "Q", "r", "%71"]), select(VALUES));
    prop_oneof![
        select(&["GET", "HEAD", "POST", "PUT"]).prop_map(Change::Method),
        select(PATHS).prop_map(Change::Path),
        select(&["/", "b", "/b", "//b", "%2Fb", ";b", ".", "/c/d"]).prop_map(Change::AppendToPath),
        Just(Change::PathInCapitals),
        Just(Change::WithoutQuery),
        param.clone().prop_map(|(name, value)| Change::Param(name, value)),
        param.prop_map(|(name, value)| Change::FirstParam(name, value)),
        (select(&["x-a", "X-a", "x-b", "cookie"]), select(VALUES)).prop_map(|(name, value)| Change::Line(name, value)),
        Just(Change::WithoutLines),
        Just(Change::WithoutLastLine),
        Just(Change::JoinLines),
    ]
}

/// A request for which a match holds, if any can.
fn satisfying(alternative: &Match, authority: &str, example: Index) -> Asked {
    let path = match &alternative.path {
        None => "/".to_owned(),
        Some(PathMatch::Exact(path)) => path.clone(),
        Some(PathMatch::Prefix(path)) => format!("{path}{}", example.get(&["", "/", "/b", "b", "c"])),
        Some(PathMatch::RawPrefix(path)) => format!("{path}{}", example.get(&["", "b", "b/c", "/"])),
        Some(PathMatch::Regex(pattern)) => {
            example_of(PATH_PATTERNS, pattern, example).unwrap_or_else(|| "/".to_owned())
        }
    };
    let mut request = get(authority, if path.starts_with('/') { &path } else { "/" });
    if let Some(method) = alternative.method {
        let name = serde_json::to_value(method).expect("a method prints");
        request = request.with_method(name.as_str().expect("as a string"));
    }
    for header in alternative.headers.iter().filter(|header| !header.name.eq_ignore_ascii_case("host")) {
        request = request.with_header(&header.name, value_for(header, example));
    }
    for param in &alternative.query_params {
        push_param(&mut request, &param.name, &value_for(param, example));
    }
    request
}

fn value_for(part: &ValueMatch, example: Index) -> String {
    match &part.value {
        Value::Exact(value) => value.clone(),
        Value::Regex(pattern) => example_of(VALUE_PATTERNS, pattern, example).unwrap_or_default(),
    }
}

fn example_of(patterns: &[(&str, &[&str])], pattern: &str, example: Index) -> Option<String> {
    let (_, examples) = patterns.iter().find(|(known, _)| *known == pattern)?;
    Some((*example.get(examples)).to_owned())
}

fn apply(change: &Change, request: &mut Asked) {
    let whole = String::from_utf8(request.path.take().unwrap_or_default()).expect("generated paths are text");
    let (path, query) = whole.split_once('?').map_or((whole.as_str(), None), |(path, query)| (path, Some(query)));
    let with = |path: &str, query: Option<&str>| {
        let path = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        Some(path.into_bytes())
    };
    let mut lines = std::mem::take(&mut request.headers);
    request.path = with(path, query);
    match *change {
        Change::Method(method) => request.method = Some(method.into()),
        Change::Path(path) => request.path = with(path, query),
        Change::AppendToPath(tail) => request.path = with(&format!("{path}{tail}"), query),
        Change::PathInCapitals => request.path = with(&path.to_ascii_uppercase(), query),
        Change::WithoutQuery => request.path = with(path, None),
        Change::Param(name, value) => push_param(request, name, value),
        Change::FirstParam(name, value) => {
            let first = format!("{name}={value}&{}", query.unwrap_or("&&r"));
            request.path = with(path, Some(&first));
        }
        Change::Line(name, value) => lines.insert(0, (name.into(), value.into())),
        Change::WithoutLines => lines.clear(),
        Change::WithoutLastLine => drop(lines.pop()),
        Change::JoinLines => {
            let joined: Vec<_> = lines.iter().map(|(_, value)| value.clone()).collect();
            lines.truncate(1);
            if let Some((_, value)) = lines.first_mut() {
                *value = joined.join(&b',');
            }
        }
    }
    request.headers = lines;
}

fn push_param(request: &mut Asked, name: &str, value: &str) {
    let path = request.path.get_or_insert_default();
    path.push(if path.contains(&b'?') { b'&' } else { b'?' });
    path.extend(name.bytes());
    // A segment without `=` has the empty value.
    if !value.is_empty() {
        path.push(b'=');
        path.extend(value.bytes());
    }
}
