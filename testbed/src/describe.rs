//! What was expected and what happened, in a few words each.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use mcwan_policy::REASON_HEADER;

use crate::client::Response;
use crate::example::{Answer, End, Expected};
use crate::latin1;
use crate::outcome::Outcome;

/// What is expected, in a few words.
pub fn expected(expected: &Expected) -> String {
    match &expected.end {
        End::Upstream(upstream) => {
            let all: u32 = upstream.shares.values().map(|share| share.get()).sum();
            let of = |share: NonZeroU32| f64::from(share.get()) * 100.0 / f64::from(all);
            join(upstream.shares.iter().map(|(destination, share)| match upstream.shares.len() {
                1 => destination.to_string(),
                _ => format!("{} % {destination}", of(*share)),
            }))
        }
        End::Answer(Answer { status, reason, location }) => words(*status, reason.as_deref(), location.as_deref()),
    }
}

/// What happened, in a few words.
pub fn outcomes(outcomes: &[Outcome]) -> String {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        let what = match &outcome.arrival {
            Some((destination, _)) => destination.to_string(),
            None => answer(&outcome.response),
        };
        *counts.entry(what).or_insert(0_usize) += 1;
    }
    join(counts.into_iter().map(|(what, count)| match outcomes.len() {
        1 => what,
        _ => format!("{count} × {what}"),
    }))
}

/// An answer that came from no upstream.
pub fn answer(response: &Response) -> String {
    let [reason, location] = [REASON_HEADER, "location"].map(|name| response.values(name).next().map(latin1::text));
    words(response.status, reason.as_deref(), location.as_deref())
}

fn words(status: u16, reason: Option<&str>, location: Option<&str>) -> String {
    let mut words = status.to_string();
    for word in [reason, location].into_iter().flatten() {
        words.push(' ');
        words.push_str(word);
    }
    words
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("\n")
}
