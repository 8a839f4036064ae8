//! The cases through a real Envoy.

use std::collections::BTreeSet;

use mcwan_core::problem::{self, Problem, Segment, Severity};
use mcwan_policy::{REASON_HEADER, Reason};
use mcwan_testbed::client::Request;
use mcwan_testbed::echo::Seen;
use mcwan_testbed::latin1;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::outcome::RequestOutcome;
use mcwan_testbed::setup::Setup;

use super::ends::{Arrival, End, EndAnswer, lines, without};
use super::report::Report;
use super::world::{Case, World};

/// Request headers that Envoy or the connection adds, those that Envoy takes from no client, and the
/// one that is compared as the authority. `x-envoy-internal` is not among them: with it the client
/// would be believed.
const REQUEST_HEADERS: [&str; 10] = [
    "content-length",
    "host",
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-external-address",
    "x-envoy-original-host",
    "x-envoy-original-path",
    "x-envoy-upstream-rq-timeout-ms",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-request-id",
];

/// Response headers that Envoy, the connection or the upstream adds, whatever the rules.
const RESPONSE_HEADERS: [&str; 6] =
    ["content-length", "date", "server", "transfer-encoding", "x-echo", "x-envoy-upstream-service-time"];

/// The response header that Envoy adds to answers that are not an upstream's.
const KIND_OF_BODY: &str = "content-type";

/// Plays all cases in a mode and compares each with what `explain` says; returns how many were decided
/// by what the mode can say.
pub(crate) async fn agree(world: &World, mode: Mode) -> usize {
    let setup = Setup::new(world.snapshot.clone(), mode).unwrap();
    let refused = Refused::new(&setup, world);
    let testbed = setup.start().await.unwrap();
    let from_upstream = lines([(KIND_OF_BODY.to_owned(), "application/json".to_owned())]);
    let mut report = Report::new(world, mode.to_string());
    let mut asked = 0;
    for case in &world.cases {
        let possible = case.possible.iter().map(|outcome| End::explained(outcome, &case.request, &from_upstream));
        let mut expected: Vec<_> = possible.map(without_envoys_own).collect();
        if refused.decides(case) {
            expected.push(refusal(&case.request));
        } else {
            asked += 1;
        }
        let seen = without_envoys_own(end(testbed.send(&case.request).await.unwrap()));
        report.compare(case, &expected, &seen);
    }
    report.finish();
    println!("{mode}: {asked} cases agree");
    asked
}

/// The rules that a mode cannot say, but others can: import and index.
struct Refused(BTreeSet<(String, usize)>);

impl Refused {
    fn new(setup: &Setup, world: &World) -> Self {
        let more = setup.problems.iter().filter(|problem| !world.setup.problems.contains(problem));
        Self(more.map(rule).collect())
    }

    fn decides(&self, case: &Case) -> bool {
        let outcome = &case.possible[0];
        outcome.import.clone().zip(outcome.rule).is_some_and(|decider| self.0.contains(&decider))
    }
}

/// The rule that a problem is of: every mode must be able to say everything else.
fn rule(problem: &Problem) -> (String, usize) {
    assert_eq!(
        (problem.severity, problem.reason),
        (Severity::Error, problem::Reason::UnsupportedFilter),
        "{problem:?}"
    );
    let index = problem.field.segments().iter().find_map(|segment| match segment {
        Segment::Index(index) => Some(*index),
        Segment::Key(_) => None,
    });
    let import = format!("{}/{}", problem.object.namespace.as_deref().unwrap_or_default(), problem.object.name);
    (import, index.unwrap_or_else(|| panic!("not of a rule: {problem:?}")))
}

/// The answer of a rule that a mode cannot say.
fn refusal(request: &Request) -> End {
    let reason = Reason::UnsupportedFilter;
    let body = if request.method == "HEAD" { "" } else { reason.sentence() };
    let headers = lines([(REASON_HEADER.to_owned(), reason.as_str().to_owned())]);
    End::Answered(EndAnswer { status: 500, headers, body: body.to_owned() })
}

fn end(RequestOutcome { response, arrival }: RequestOutcome) -> End {
    let answered = lines(response.headers.iter().map(|(name, value)| (name.clone(), text(value))));
    match arrival {
        Some((destination, seen)) => {
            assert_eq!(response.status, 200, "an echo says nothing else");
            let bytes = |value: &str| latin1::bytes(value).unwrap();
            let headers = lines(seen.headers.iter().map(|(name, value)| (name.clone(), text(&bytes(value)))));
            let Seen { authority, path, .. } = seen;
            End::Arrived(Arrival { destination, authority, path, headers, response_headers: answered })
        }
        None if response.status == 404 && !answered.contains_key(REASON_HEADER) => End::Passed,
        None => End::Answered(EndAnswer { status: response.status, headers: answered, body: text(&response.body) }),
    }
}

/// The same without the headers that are Envoy's business.
fn without_envoys_own(end: End) -> End {
    match end {
        End::Passed => End::Passed,
        End::Answered(answer) => {
            let headers = without(answer.headers, |name| RESPONSE_HEADERS.contains(&name) || name == KIND_OF_BODY);
            End::Answered(EndAnswer { headers, ..answer })
        }
        End::Arrived(arrival) => End::Arrived(Arrival {
            headers: without(arrival.headers, |name| REQUEST_HEADERS.contains(&name)),
            response_headers: without(arrival.response_headers, |name| RESPONSE_HEADERS.contains(&name)),
            ..arrival
        }),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
