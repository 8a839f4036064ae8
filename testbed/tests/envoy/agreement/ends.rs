//! What became of a request, in a form that all data planes share.

use std::collections::BTreeMap;

use mcwan_core::explain::{self, OutcomeKind};
use mcwan_core::translate;
use mcwan_testbed::client::Request;
use mcwan_testbed::example::Destination;

/// Header lines by name, in their order.
pub(crate) type Lines = BTreeMap<String, Vec<String>>;

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It belongs to no import.
    Passed,
    Answered(EndAnswer),
    Arrived(Arrival),
}

/// An answer of mcwan's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Lines,
    pub(crate) body: String,
}

/// What the upstream saw, and what the client saw of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) destination: Destination,
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) headers: Lines,
    pub(crate) response_headers: Lines,
}

impl End {
    /// What `explain` says, for an upstream that answers with these header lines.
    pub(crate) fn explained(outcome: &explain::Outcome, request: &Request, response_headers: &Lines) -> Self {
        match outcome.kind {
            OutcomeKind::Pass => Self::Passed,
            OutcomeKind::Reply => Self::Answered(EndAnswer::explained(outcome, request)),
            OutcomeKind::Route => Self::Arrived(Arrival::explained(outcome, response_headers)),
        }
    }
}

impl EndAnswer {
    pub(crate) fn explained(outcome: &explain::Outcome, request: &Request) -> Self {
        let explain::Reply { status, headers, body } = outcome.reply.clone().unwrap();
        let body = if request.method == "HEAD" { String::new() } else { body };
        Self { status, headers: lines(headers), body }
    }
}

impl Arrival {
    fn explained(outcome: &explain::Outcome, response_headers: &Lines) -> Self {
        let destination = match outcome.destination.clone().unwrap() {
            translate::Destination::Tier { name, .. } | translate::Destination::Import { tier: name, .. } => {
                Destination::Tier(name)
            }
            translate::Destination::Service { namespace, name, port: _ } => Destination::Service { namespace, name },
        };
        let explain::ResponseHeaders { set, add, remove } = outcome.response_headers.clone().unwrap();
        let mut response_headers = response_headers.clone();
        response_headers.retain(|name, _| !remove.contains(name));
        for (name, value) in set {
            response_headers.insert(name, vec![value]);
        }
        for (name, value) in add {
            response_headers.entry(name).or_default().push(value);
        }
        Self {
            destination,
            authority: outcome.authority.clone().unwrap(),
            path: outcome.path.clone().unwrap(),
            headers: lines(outcome.request_headers.clone().unwrap()),
            response_headers,
        }
    }
}

/// Header lines by name.
pub(crate) fn lines(pairs: impl IntoIterator<Item = (String, String)>) -> Lines {
    let mut lines = Lines::new();
    for (name, value) in pairs {
        lines.entry(name).or_default().push(value);
    }
    lines
}

/// The same without some names.
pub(crate) fn without(mut lines: Lines, is_ignored: impl Fn(&str) -> bool) -> Lines {
    lines.retain(|name, _| !is_ignored(name));
    lines
}
