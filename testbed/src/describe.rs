//! What was expected and what happened, in a few words each.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use mcwan_policy::REASON_HEADER;

use crate::client::Response;
use crate::example::{Destination, End, Expected, ExpectedAnswer, Upstream};
use crate::latin1;
use crate::outcome::RequestOutcome;

/// What is expected.
pub fn expected(expected: &Expected) -> String {
    match &expected.end {
        End::Upstream(upstream) => {
            let all: u32 = upstream.shares.values().map(|share| share.get()).sum();
            let percent = |share: NonZeroU32| f64::from(share.get()) * 100.0 / f64::from(all);
            let ends = upstream.shares.iter().map(|(destination, share)| {
                let end = arrival(destination, upstream.path.as_deref(), upstream.authority.as_deref());
                if upstream.shares.len() == 1 { end } else { format!("{} % {end}", percent(*share)) }
            });
            join(ends)
        }
        End::Answer(ExpectedAnswer { status, reason, location }) => {
            words(*status, reason.as_deref(), location.as_deref())
        }
    }
}

/// What happened, as far as the example asks for it.
pub fn outcomes(expected: &Expected, outcomes: &[RequestOutcome]) -> String {
    let asked = |ask: fn(&Upstream) -> bool| matches!(&expected.end, End::Upstream(upstream) if ask(upstream));
    let [path, authority] = [asked(|upstream| upstream.path.is_some()), asked(|upstream| upstream.authority.is_some())];
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        let end = match &outcome.arrival {
            Some((destination, seen)) => {
                arrival(destination, path.then_some(&*seen.path), authority.then_some(&*seen.authority))
            }
            None => answer(&outcome.response),
        };
        *counts.entry(end).or_insert(0_usize) += 1;
    }
    join(counts.into_iter().map(|(end, count)| if outcomes.len() == 1 { end } else { format!("{count} × {end}") }))
}

fn arrival(destination: &Destination, path: Option<&str>, authority: Option<&str>) -> String {
    let path = path.map(|path| format!(" {path}")).unwrap_or_default();
    let authority = authority.map(|authority| format!("\n  as {authority}")).unwrap_or_default();
    format!("{destination}{path}{authority}")
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
