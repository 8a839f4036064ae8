//! Arbitrary bytes never trap, and never widen a match.

use std::borrow::Cow;
use std::cell::RefCell;
use std::convert::Infallible;

use mcwan_policy::sla::Levels;
use mcwan_policy::{Decision, HeaderLine, RouteTable};
use mcwan_wasm_tests::{Cause, Headers, Host, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::config::{
    HIGH, always, config, import, load, payment, prefix, release, rule, to, to_https, with, with_header,
};
use super::outcome::FilterOutcome;

/// A configuration with something of every kind.
fn rich() -> Value {
    let regex = |pattern: &str| json!({"path": {"regex": pattern}});
    let by_cookie = json!({"headers": [{"name": "cookie", "value": {"regex": "^(.*?;)?(user=test)(;.*)?"}}]});
    let by_query = json!({"queryParams": [{"name": "q", "value": {"exact": "1"}}]});
    let by_header = with_header(json!({}), "x-a", "1");
    let rewrite = json!({"forward": {"target": 1, "path": {"prefix": "/new"}}});
    let wild = with(import("ledger", [always(to(2))]), "hostnames", json!(["*.example.com"]));
    config([
        import(
            "payment",
            [
                rule([by_cookie], [to(2)]),
                rule([prefix("/payment"), json!({"path": {"exact": "/x"}})], [to(0)]),
                rule([prefix("/rewrite")], [rewrite]),
                rule([with(prefix("/payment"), "method", json!("POST"))], [to_https()]),
                rule([by_query, by_header], [to(1)]),
                rule([regex("/[a-z]+/[0-9]{1,3}")], [to(1)]),
            ],
        ),
        wild,
    ])
}

/// What loading these bytes must come to: a table, or a refusal.
fn load_or_refuse(bytes: &[u8]) {
    if let Err(failure) = Host::builder(&release()).load(bytes) {
        assert!(matches!(failure.cause, Cause::Refused), "{failure:?}");
    }
}

fn authority() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec!["payment", "PAYMENT.secure", "payment.secure:80", "a.example.com.", "ledger", "other"]);
    prop_oneof![3 => known.prop_map(|host| host.as_bytes().to_vec()), 1 => vec(any::<u8>(), 0..40)]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let start = select(vec!["", "/", "/payment", "/rewrite", "/x", "/abc/12", "*", "http://payment/"]);
    let rest =
        prop_oneof![Just(Vec::new()), "[/a-z0-9?&=#%.;]{0,20}".prop_map(String::into_bytes), vec(any::<u8>(), 0..40)];
    (start, rest).prop_map(|(start, rest)| [start.as_bytes(), &rest].concat())
}

fn request() -> impl Strategy<Value = Request> {
    let name =
        prop_oneof![select(vec!["x-a", "cookie", "X-Mcwan-Target", "q"]).prop_map(str::to_owned), "[a-zA-Z0-9-]{1,20}"];
    let value = prop_oneof![
        select(vec!["1", "user=test", "a;user=test;b"]).prop_map(|value| value.as_bytes().to_vec()),
        vec(any::<u8>(), 0..40)
    ];
    let method =
        prop_oneof![select(vec!["GET", "POST"]).prop_map(|method| method.as_bytes().to_vec()), vec(any::<u8>(), 0..10)];
    let absent = proptest::option::weighted(0.1, select(vec![":authority", ":path", ":method", ":scheme"]));
    (authority(), path(), method, vec((name, value), 0..8), absent).prop_map(
        |(authority, path, method, lines, absent)| {
            let request = Request::new(method, authority, path);
            let request = lines.iter().fold(request, |request, (name, value)| request.header(name, value));
            absent.map_or(request.clone(), |name| request.without(name))
        },
    )
}

proptest! {
    #[test]
    fn a_config_of_arbitrary_bytes_does_not_trap(bytes in vec(any::<u8>(), 0..200)) {
        load_or_refuse(&bytes);
    }

    #[test]
    fn a_config_with_arbitrary_bytes_in_it_does_not_trap(
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        end in proptest::option::of(any::<Index>()),
    ) {
        let mut bytes = rich().to_string().into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.map_or(bytes.len(), |end| end.index(bytes.len())));
        load_or_refuse(&bytes);
    }

    #[test]
    fn an_arbitrary_pattern_does_not_trap(pattern in "[a-c(){}\\[\\]|?*+.^$0-9,\\\\-]{0,24}", value in "[a-c0-9]{0,24}") {
        let by_pattern = json!({"headers": [{"name": "x-a", "value": {"regex": pattern}}]});
        let mut host = load(&config([payment(), import("ledger", [rule([by_pattern], [to(0)])])]));
        let request = Request::get("ledger", "/").header("x-a", value);
        FilterOutcome::of(&host.request(&request).expect("no failure"));
        prop_assert_eq!(
            FilterOutcome::of(&host.request(&Request::get("payment", "/payment")).expect("no failure")),
            FilterOutcome::Steered(HIGH.to_owned())
        );
    }

    #[test]
    fn the_module_decides_like_the_crate_that_it_is_made_of(requests in vec(request(), 1..20)) {
        let (mut host, table) = HOST.with_borrow_mut(Option::take).unwrap_or_else(|| {
            let table = RouteTable::from_json(rich().to_string().as_bytes()).expect("a sound config");
            (load(&rich()), table)
        });
        for request in &requests {
            let effects = host.request(request).unwrap_or_else(|failure| panic!("{failure:?} on {request:?}"));
            let Ok(decision) = table.decide(&Asked::new(request.headers()), Levels::ALL_IN, || 0);
            prop_assert_eq!(FilterOutcome::of(&effects), outcome(&decision), "{:?}", request);
        }
        HOST.set(Some((host, table)));
    }
}

thread_local! {
    /// Kept between cases: what a request leaves behind must not matter to the next.
    static HOST: RefCell<Option<(Host, RouteTable)>> = const { RefCell::new(None) };
}

/// What a decision comes to in the data plane.
pub(super) fn outcome(decision: &Decision<'_>) -> FilterOutcome {
    match decision {
        Decision::Pass => FilterOutcome::Passed,
        Decision::Route(route) => FilterOutcome::Steered(route.target.steering_value().to_owned()),
        Decision::Reply(reply) => match reply.reason {
            Some(reason) => FilterOutcome::Refused(reply.status.into(), reason.as_str().to_owned()),
            None => FilterOutcome::Redirected(
                reply.status.into(),
                String::from_utf8_lossy(&reply.headers[0].1).into_owned(),
            ),
        },
    }
}

/// A request as the crate asks for it, with the host's first-line semantics.
pub(super) struct Asked<'h> {
    headers: &'h Headers,
    lines: Vec<HeaderLine>,
}

impl<'h> Asked<'h> {
    pub(super) fn new(headers: &'h Headers) -> Self {
        let lines = headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        Self { headers, lines }
    }
}

impl mcwan_policy::Request for Asked<'_> {
    type Error = Infallible;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(self.headers.get(":authority").map(Cow::Borrowed))
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(self.headers.get(":path").map(Cow::Borrowed))
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(self.headers.get(":method").map(Cow::Borrowed))
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(self.headers.get(":scheme").map(Cow::Borrowed))
    }

    fn port(&self) -> Result<Option<u16>, Infallible> {
        Ok(None)
    }

    fn headers(&self) -> Result<&[HeaderLine], Infallible> {
        Ok(&self.lines)
    }
}
