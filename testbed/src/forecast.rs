//! What `mcwan explain` says of a request, compared with what happened.

use mcwan_core::explain::{self, Asked, Explainer, OutcomeKind};
use mcwan_core::translate;
use mcwan_policy::{REASON_HEADER, STEERING_HEADER};

use crate::client::Request;
use crate::describe;
use crate::echo::Seen;
use crate::example::Destination;
use crate::latin1;
use crate::outcome::RequestOutcome;

/// How many draws are tried for a choice by weight.
const DRAWS: u64 = 256;

/// An odd number whose multiples spread over all numbers (2^64 by the golden ratio).
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Everything that may become of a request.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The rule that decides, counted from 0; chance plays no part in it.
    pub rule: Option<usize>,
    /// The rule with its name, for people.
    pub decided_by: String,
    /// What chance may choose from; never empty.
    pub possible: Vec<explain::Outcome>,
}

impl Forecast {
    /// Asks about a request that comes in by a port.
    pub fn new(explainer: Explainer<'_>, request: &Request, port: u16) -> Self {
        let host = request.host.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let mut asked = Asked::new(&request.method, "http", &host, Some(port), &request.path, &[]);
        asked.lines =
            request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase().into(), value.clone())).collect();
        let (first, considered) = explainer.explain(&asked, 0);
        let name = considered.into_iter().find(|considered| considered.taken).and_then(|taken| taken.name);
        let decided_by = match (first.kind, first.rule, name) {
            (OutcomeKind::Pass, ..) => "no import".to_owned(),
            (_, None, _) => "no rule".to_owned(),
            (_, Some(rule), None) => format!("rule {rule}"),
            (_, Some(rule), Some(name)) => format!("rule {rule} ({name})"),
        };
        let rule = first.rule;
        let mut possible = vec![first];
        for draw in 1..DRAWS {
            let (other, _) = explainer.explain(&asked, STEP.wrapping_mul(draw));
            if !possible.contains(&other) {
                possible.push(other);
            }
        }
        Self { rule, decided_by, possible }
    }

    /// How what happened differs from everything that may, in words; none where it does not.
    pub fn fault(&self, outcome: &RequestOutcome) -> Option<String> {
        let faults: Option<Vec<_>> = self.possible.iter().map(|possible| difference(possible, outcome)).collect();
        faults.map(|faults| format!("explain differs: {}", faults.join(", or ")))
    }
}

fn difference(explained: &explain::Outcome, outcome: &RequestOutcome) -> Option<String> {
    match (explained.kind, &outcome.arrival) {
        (OutcomeKind::Route, Some((destination, seen))) => arrival_difference(explained, destination, seen),
        (OutcomeKind::Route, None) if is_late(explained, outcome) => None,
        (OutcomeKind::Route, None) => Some(format!("it arrives, not {}", describe::answer(&outcome.response))),
        (OutcomeKind::Reply | OutcomeKind::Pass, Some((destination, _))) => {
            Some(format!("it does not arrive at {destination}"))
        }
        (OutcomeKind::Reply, None) => reply_difference(explained, outcome),
        (OutcomeKind::Pass, None) => {
            let passed = outcome.response.status == 404 && outcome.response.values(REASON_HEADER).next().is_none();
            (!passed).then(|| format!("it is not ours, so not {}", describe::answer(&outcome.response)))
        }
    }
}

/// Whether a request took longer than its target's route allows.
fn is_late(explained: &explain::Outcome, outcome: &RequestOutcome) -> bool {
    let timeouts = explained.forwarding.as_ref().and_then(|forwarding| forwarding.timeouts);
    timeouts.is_some() && outcome.response.status == 504
}

fn arrival_difference(explained: &explain::Outcome, destination: &Destination, seen: &Seen) -> Option<String> {
    if explained.destination.as_ref().map(place).as_ref() != Some(destination) {
        return Some(format!("it does not go to {destination}"));
    }
    for (what, said, seen) in
        [("authority", &explained.authority, &seen.authority), ("path", &explained.path, &seen.path)]
    {
        if said.as_ref() != Some(seen) {
            return Some(format!("the {what} is {}", said.as_deref().unwrap_or_default()));
        }
    }
    // Envoy adds headers of its own: only the names that explain knows are compared.
    let said = explained.request_headers.as_deref().unwrap_or_default();
    let mut names = said.iter().map(|line| &*line.0).chain([STEERING_HEADER]);
    let lines = |name: &str| -> (Vec<_>, Vec<_>) {
        let said = said.iter().filter(|line| line.0 == name).map(|line| line.1.clone());
        let seen = seen.headers.iter().filter(|line| line.0 == name).map(|line| as_explained(&line.1));
        (said.collect(), seen.collect())
    };
    names.find_map(|name| {
        let (said, seen) = lines(name);
        (said != seen).then(|| format!("the header {name} is {said:?}, not {seen:?}"))
    })
}

fn reply_difference(explained: &explain::Outcome, outcome: &RequestOutcome) -> Option<String> {
    let explain::Reply { status, headers, .. } = explained.reply.as_ref()?;
    if outcome.response.status != *status {
        return Some(format!("the status is {status}"));
    }
    headers.iter().find_map(|(name, value)| {
        let is_there = outcome.response.values(name).any(|seen| String::from_utf8_lossy(seen) == *value);
        (!is_there).then(|| format!("there is {name}: {value}"))
    })
}

/// A value as `explain` prints it: what is not UTF-8 is replaced.
fn as_explained(value: &str) -> String {
    latin1::bytes(value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn place(destination: &translate::Destination) -> Destination {
    match destination {
        translate::Destination::Tier { name, .. } | translate::Destination::Import { tier: name, .. } => {
            Destination::Tier(name.clone())
        }
        translate::Destination::Service { namespace, name, port: _ } => {
            Destination::Service { namespace: namespace.clone(), name: name.clone() }
        }
    }
}
