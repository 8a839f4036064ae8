//! What happened is compared with what `mcwan explain` says, and every difference is told.

use mcwan_core::explain::Explainer;
use mcwan_testbed::client::{Request, Response};
use mcwan_testbed::echo::Seen;
use mcwan_testbed::example::{Destination, Example};
use mcwan_testbed::forecast::Forecast;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::outcome::RequestOutcome;
use mcwan_testbed::setup::Setup;

const HIGH: &str = "sd-wan-priority-high";
const LOW: &str = "sd-wan-priority-low";
const CANONICAL: &str = "payment.secure.svc.cluster.local";

fn forecast(example: &str, host: &str, path: &str) -> Forecast {
    let setup = Setup::of_example(&Example::load(example).unwrap(), Mode::RouteHeader).unwrap();
    let request = Request {
        method: "GET".to_owned(),
        host: Some(host.into()),
        path: path.to_owned(),
        headers: vec![("X-A".to_owned(), b"1".to_vec())],
    };
    Forecast::new(Explainer::new(&setup.translation, &setup.plugin), &request, 8080)
}

fn mk_arrival(tier: &str, authority: &str, path: &str, headers: &[(&str, &str)]) -> RequestOutcome {
    let seen = Seen {
        port: 31111,
        authority: authority.to_owned(),
        method: "GET".to_owned(),
        path: path.to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    let response = Response { status: 200, headers: Vec::new(), body: Vec::new() };
    RequestOutcome { response, arrival: Some((Destination::Tier(tier.to_owned()), seen)) }
}

fn mk_answer(status: u16, reason: Option<&str>) -> RequestOutcome {
    let headers = reason.map(|reason| ("x-mcwan-reason".to_owned(), reason.as_bytes().to_vec()));
    let response = Response { status, headers: headers.into_iter().collect(), body: Vec::new() };
    RequestOutcome { response, arrival: None }
}

#[test]
fn a_request_that_goes_to_a_tier() {
    let headers = [("x-a", "1"), ("x-mcwan-port", "8080"), ("x-request-id", "whatever Envoy adds")];
    let forged = [("x-a", "1"), ("x-mcwan-port", "8080"), ("x-mcwan-target", "high")];
    let table = [
        (mk_arrival(HIGH, CANONICAL, "/payment", &headers), None, "as explained"),
        (mk_arrival(LOW, CANONICAL, "/payment", &headers), Some(LOW), "another tier"),
        (mk_arrival(HIGH, "payment", "/payment", &headers), Some("authority"), "another authority"),
        (mk_arrival(HIGH, CANONICAL, "/", &headers), Some("path"), "another path"),
        (mk_arrival(HIGH, CANONICAL, "/payment", &headers[1..]), Some("x-a"), "a header is missing"),
        (mk_arrival(HIGH, CANONICAL, "/payment", &forged), Some("x-mcwan-target"), "the steering header is left"),
        (mk_answer(403, Some("NoRuleMatched")), Some("it arrives"), "refused"),
        (mk_answer(504, None), Some("it arrives"), "late, where nothing limits the time"),
    ];
    assert_table(&forecast("payment", "payment", "/payment"), table);
}

#[test]
fn a_request_that_is_refused() {
    let table = [
        (mk_answer(403, Some("NoRuleMatched")), None, "as explained"),
        (mk_answer(404, Some("NoRuleMatched")), Some("403"), "another status"),
        (mk_answer(403, Some("NoBackend")), Some("NoRuleMatched"), "another reason"),
        (mk_answer(403, None), Some("NoRuleMatched"), "no reason"),
        (mk_arrival(HIGH, CANONICAL, "/", &[]), Some("does not arrive"), "it arrives"),
    ];
    assert_table(&forecast("payment", "payment", "/"), table);
}

#[test]
fn a_request_for_somebody_else() {
    let table = [
        (mk_answer(404, None), None, "Envoy has no route"),
        (mk_answer(403, Some("NoRuleMatched")), Some("not ours"), "refused"),
        (mk_arrival(HIGH, CANONICAL, "/", &[]), Some("does not arrive"), "it arrives"),
    ];
    assert_table(&forecast("payment", "example.com", "/"), table);
}

#[test]
fn a_choice_by_weight() {
    let headers = [("x-a", "1"), ("x-mcwan-port", "8080")];
    let table = [
        (mk_arrival(HIGH, CANONICAL, "/", &headers), None, "one"),
        (mk_arrival(LOW, CANONICAL, "/", &headers), None, "the other"),
        (mk_arrival("sd-wan-priority-none", CANONICAL, "/", &headers), Some(", or "), "neither"),
    ];
    assert_table(&forecast("split", "payment", "/"), table);
}

#[test]
fn a_request_whose_time_is_limited() {
    let headers = [("x-a", "1"), ("x-mcwan-port", "8080")];
    let table = [
        (mk_arrival(LOW, CANONICAL, "/report", &headers), None, "in time"),
        (mk_answer(504, None), None, "too late"),
        (mk_answer(503, None), Some("it arrives"), "not at all"),
    ];
    assert_table(&forecast("rewrite", "payment", "/report"), table);
}

fn assert_table<const N: usize>(forecast: &Forecast, table: [(RequestOutcome, Option<&str>, &str); N]) {
    for (outcome, part, message) in table {
        let fault = forecast.fault(&outcome);
        assert_eq!(fault.is_some(), part.is_some(), "{message}: {fault:?}");
        assert!(fault.unwrap_or_default().contains(part.unwrap_or_default()), "{message}");
    }
}
