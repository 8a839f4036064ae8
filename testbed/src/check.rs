//! Compares what happened with what an example expects. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use mcwan_policy::REASON_HEADER;

use crate::describe;
use crate::example::{Destination, End, Expected, ExpectedAnswer, Header, Upstream};
use crate::latin1;
use crate::outcome::RequestOutcome;

/// How many standard deviations a share may be off: five are exceeded once in 1.7 million runs.
const SIGMAS: f64 = 5.0;

/// What is not as expected, in words; each difference once. None: all is well.
pub fn faults(expected: &Expected, outcomes: &[RequestOutcome]) -> Vec<String> {
    let Expected { rule: _, response_headers, end } = expected;
    let mut faults = Vec::new();
    for outcome in outcomes {
        match end {
            End::Upstream(upstream) => at_upstream(upstream, outcome, &mut faults),
            End::Answer(answer) => on_the_way(answer, outcome, &mut faults),
        }
        let seen: Vec<_> =
            outcome.response.headers.iter().map(|(name, value)| (&**name, latin1::text(value))).collect();
        compare_lines("the client", response_headers, &seen, &mut faults);
    }
    if let End::Upstream(upstream) = end
        && upstream.shares.len() > 1
    {
        shares(&upstream.shares, outcomes, &mut faults);
    }
    let mut known = BTreeSet::new();
    faults.retain(|fault| known.insert(fault.clone()));
    faults
}

fn at_upstream(expected: &Upstream, outcome: &RequestOutcome, faults: &mut Vec<String>) {
    let Some((destination, seen)) = &outcome.arrival else {
        faults.push(format!("it did not arrive: {}", describe::answer(&outcome.response)));
        return;
    };
    if !expected.shares.contains_key(destination) {
        faults.push(format!("it arrived at {destination}"));
    }
    for (what, expected, seen) in
        [("authority", &expected.authority, &seen.authority), ("path", &expected.path, &seen.path)]
    {
        if let Some(expected) = expected
            && expected != seen
        {
            faults.push(format!("the upstream saw the {what} {seen}, not {expected}"));
        }
    }
    let lines: Vec<_> = seen.headers.iter().map(|(name, value)| (&**name, value.clone())).collect();
    compare_lines("the upstream", &expected.headers, &lines, faults);
    for name in &expected.absent_headers {
        if lines.iter().any(|line| line.0 == name) {
            faults.push(format!("the upstream saw the header {name}"));
        }
    }
}

fn on_the_way(expected: &ExpectedAnswer, outcome: &RequestOutcome, faults: &mut Vec<String>) {
    let ExpectedAnswer { status, reason, location } = expected;
    if let Some((destination, _)) = &outcome.arrival {
        faults.push(format!("it arrived at {destination}"));
    }
    let response = &outcome.response;
    if response.status != *status {
        faults.push(format!("its status is {}", response.status));
    }
    for (name, expected) in [(REASON_HEADER, reason), ("location", location)] {
        let seen = response.values(name).next().map(latin1::text);
        match (expected, seen) {
            (expected, seen) if *expected == seen => {}
            (_, Some(seen)) => faults.push(format!("its {name} is {seen}")),
            (_, None) => faults.push(format!("it has no {name}")),
        }
    }
}

/// Of each name that is expected, `who` must have seen exactly the expected lines in their order.
fn compare_lines(who: &str, expected: &[Header], seen: &[(&str, String)], faults: &mut Vec<String>) {
    for header in expected {
        let wanted: Vec<_> =
            expected.iter().filter(|other| other.name == header.name).map(|other| &*other.value).collect();
        let had: Vec<_> = seen.iter().filter(|line| line.0 == header.name).map(|line| &*line.1).collect();
        if wanted != had {
            faults.push(format!("{who} saw the header {} as {had:?}, not {wanted:?}", header.name));
        }
    }
}

fn shares(shares: &BTreeMap<Destination, NonZeroU32>, outcomes: &[RequestOutcome], faults: &mut Vec<String>) {
    let all: u32 = shares.values().map(|share| share.get()).sum();
    for (destination, share) in shares {
        let arrived = count(outcomes, destination);
        let probability = f64::from(share.get()) / f64::from(all);
        if !is_plausible(arrived, outcomes.len(), probability) {
            faults.push(format!("{arrived} of {} arrived at {destination}", outcomes.len()));
        }
    }
}

/// Whether so many of all is what chance may do.
fn is_plausible(arrived: usize, all: usize, probability: f64) -> bool {
    let [arrived, all] = [arrived, all].map(|number| u32::try_from(number).map_or(f64::INFINITY, f64::from));
    let deviation = (all * probability * (1.0 - probability)).sqrt();
    (arrived - all * probability).abs() <= SIGMAS * deviation
}

fn count(outcomes: &[RequestOutcome], destination: &Destination) -> usize {
    outcomes.iter().filter(|outcome| outcome.arrival.as_ref().is_some_and(|arrival| arrival.0 == *destination)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Response;
    use crate::echo::Seen;

    const HIGH: &str = "high";
    const LOW: &str = "low";

    fn tier(name: &str) -> Destination {
        Destination::Tier(name.to_owned())
    }

    fn mk_header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned() }
    }

    /// What must arrive at the high tier with everything that can be asked of it.
    fn mk_upstream() -> Expected {
        let end = End::Upstream(Upstream {
            shares: BTreeMap::from([(tier(HIGH), NonZeroU32::MIN)]),
            authority: Some("a".to_owned()),
            path: Some("/".to_owned()),
            headers: vec![mk_header("x", "1"), mk_header("x", "2")],
            absent_headers: vec!["y".to_owned()],
        });
        Expected { rule: None, response_headers: vec![mk_header("z", "1")], end }
    }

    fn mk_answer(status: u16, reason: Option<&str>) -> Expected {
        let end = End::Answer(ExpectedAnswer { status, reason: reason.map(str::to_owned), location: None });
        Expected { rule: None, response_headers: Vec::new(), end }
    }

    fn mk_response(status: u16, headers: &[(&str, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        Response { status, headers, body: Vec::new() }
    }

    fn mk_arrival(at: &str, authority: &str, path: &str, headers: &[(&str, &str)]) -> RequestOutcome {
        let seen = Seen {
            port: 1,
            authority: authority.to_owned(),
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        RequestOutcome { response: mk_response(200, &[("z", "1")]), arrival: Some((tier(at), seen)) }
    }

    fn mk_end(status: u16, headers: &[(&str, &str)]) -> RequestOutcome {
        RequestOutcome { response: mk_response(status, headers), arrival: None }
    }

    #[test]
    fn every_difference_is_a_fault() {
        let x = [("x", "1"), ("x", "2")];
        let refused = mk_end(403, &[(REASON_HEADER, "NoRuleMatched")]);
        let table = [
            (mk_upstream(), mk_arrival(HIGH, "a", "/", &x), None, "all as expected"),
            (mk_upstream(), mk_arrival(LOW, "a", "/", &x), Some("at low"), "another tier"),
            (mk_upstream(), mk_arrival(HIGH, "b", "/", &x), Some("authority b"), "another authority"),
            (mk_upstream(), mk_arrival(HIGH, "a", "/b", &x), Some("path /b"), "another path"),
            (mk_upstream(), mk_arrival(HIGH, "a", "/", &x[..1]), Some("header x"), "a line is missing"),
            (mk_upstream(), mk_arrival(HIGH, "a", "/", &[x[1], x[0]]), Some("header x"), "another order"),
            (mk_upstream(), mk_arrival(HIGH, "a", "/", &[x[0], x[1], x[1]]), Some("header x"), "a line too many"),
            (mk_upstream(), mk_arrival(HIGH, "a", "/", &[x[0], x[1], ("y", "")]), Some("header y"), "must be absent"),
            (mk_upstream(), mk_end(200, &[]), Some("did not arrive"), "answered on the way"),
            (mk_upstream(), refused.clone(), Some("header z"), "a response header is missing"),
            (mk_answer(403, Some("NoRuleMatched")), refused.clone(), None, "refused as expected"),
            (mk_answer(404, Some("NoRuleMatched")), refused.clone(), Some("status is 403"), "another status"),
            (mk_answer(403, Some("NoBackend")), refused.clone(), Some("is NoRuleMatched"), "another reason"),
            (mk_answer(403, None), refused, Some("is NoRuleMatched"), "a reason that is not expected"),
            (mk_answer(403, Some("NoBackend")), mk_end(403, &[]), Some("no x-mcwan-reason"), "no reason"),
            (mk_answer(302, None), mk_end(302, &[("location", "/")]), Some("location is /"), "an unexpected redirect"),
            (mk_answer(200, None), mk_arrival(LOW, "a", "/", &[]), Some("arrived at low"), "it arrived"),
        ];
        for (expected, outcome, fault, message) in table {
            let faults = faults(&expected, &[outcome]).join("; ");
            assert_eq!(faults.is_empty(), fault.is_none(), "{message}: {faults}");
            assert!(faults.contains(fault.unwrap_or_default()), "{message}: {faults}");
        }
    }

    #[test]
    fn a_share_may_be_off_by_five_standard_deviations() {
        // 1000 requests at 90 %: the standard deviation is 9.49.
        let table = [(900, 0.9, true), (948, 0.9, false), (947, 0.9, true), (853, 0.9, true), (852, 0.9, false)];
        for (arrived, probability, plausible) in table.into_iter().chain([(1000, 1.0, true), (999, 1.0, false)]) {
            assert_eq!(is_plausible(arrived, 1000, probability), plausible, "{arrived} at {probability}");
        }
    }
}
