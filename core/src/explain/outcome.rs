//! What becomes of a request, in the form that `explain -o json` prints.

use mcwan_policy::wire::{Header, HeaderModifier};
use mcwan_policy::{FORWARDED_HOST_HEADER, HeaderLine, PORT_HEADER, Route, STEERING_HEADER};
use serde::Serialize;

use crate::api::{Cors, Timeouts};
use crate::problem::NotPermitted;
use crate::translate::{Destination, Forwarding, Mirror, Target, in_turn};

use super::{Asked, TierOutcome};

/// What becomes of a request; a field that does not apply is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What kind of thing happens.
    pub kind: OutcomeKind,
    /// The import that has the host, as `NAMESPACE/NAME`.
    pub import: Option<String>,
    /// The index of the rule.
    pub rule: Option<usize>,
    /// The index of the match in its rule; none too for a rule without matches.
    pub r#match: Option<usize>,
    /// Where the request goes.
    pub destination: Option<Destination>,
    /// The name of the target.
    pub target: Option<String>,
    /// What the upstream sees as `:authority`.
    pub authority: Option<String>,
    /// What the upstream sees as `:path`.
    pub path: Option<String>,
    /// The header lines that the upstream sees, names in lower case, pseudo-headers and what Envoy adds
    /// by itself excluded.
    pub request_headers: Option<Vec<(String, String)>>,
    /// What becomes of the response's headers.
    pub response_headers: Option<ResponseHeaders>,
    /// What else the route does.
    pub forwarding: Option<RouteFeatures>,
    /// The answer, where mcwan answers itself.
    pub reply: Option<Reply>,
    /// Why it does.
    pub reason: Option<&'static str>,
    /// By which policies no tier of the rule may be taken, where that is why.
    pub not_permitted: Option<Vec<NotPermitted>>,
    /// What came of each tier that it might take, where measured quality chooses.
    pub tiers: Option<Vec<TierOutcome>>,
}

/// The kinds of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum OutcomeKind {
    /// The request goes to a target.
    Route,
    /// mcwan answers.
    Reply,
    /// The host is none of an import; the request goes on as it is.
    #[default]
    Pass,
}

/// What becomes of a response's headers: removed, then set, then added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseHeaders {
    /// Lines that replace all of their name.
    pub set: Vec<(String, String)>,
    /// Lines that are added.
    pub add: Vec<(String, String)>,
    /// Names that are removed.
    pub remove: Vec<String>,
}

/// What a target's route does beside headers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteFeatures {
    /// How long a request may take.
    pub timeouts: Option<Timeouts>,
    /// Who gets copies.
    pub mirrors: Vec<Mirror>,
    /// Cross-origin resource sharing.
    pub cors: Option<Cors>,
}

/// An answer of mcwan's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body; empty for a redirect.
    pub body: String,
}

impl Outcome {
    pub(super) fn pass(asked: &Asked) -> Self {
        let lines = asked.lines.iter().filter(|(name, _)| name != STEERING_HEADER.as_bytes());
        Self {
            kind: OutcomeKind::Pass,
            authority: Some(asked.host.clone()),
            path: Some(asked.path.clone()),
            request_headers: Some(texts(lines)),
            ..Self::default()
        }
    }

    pub(super) fn route(route: &Route<'_>, asked: &Asked, target: &Target, port: Option<u16>) -> Self {
        let Forwarding { backend_headers, rule_headers, hostname, timeouts, mirrors, cors } = &target.forwarding;
        let own = |(name, _): &&HeaderLine| [STEERING_HEADER, PORT_HEADER].iter().any(|own| own.as_bytes() == name);
        let mut lines: Vec<_> = asked.lines.iter().filter(|line| !own(line)).cloned().collect();
        if route.import.authority().is_none() {
            // A route may name another host upstream.
            lines.retain(|(name, _)| name != FORWARDED_HOST_HEADER.as_bytes());
            lines.push((FORWARDED_HOST_HEADER.into(), asked.host.clone().into_bytes()));
        }
        backend_headers.request.apply(&mut lines);
        rule_headers.request.apply(&mut lines);
        let meant = port.map(|port| target.destination.told_port(port));
        lines.extend(meant.map(|port| (PORT_HEADER.into(), port.to_string().into_bytes())));
        let path = route.path.as_ref().map(|path| String::from_utf8_lossy(path).into_owned());
        Self {
            kind: OutcomeKind::Route,
            import: Some(format!("{}/{}", route.import.namespace(), route.import.name())),
            rule: Some(route.matched.rule),
            r#match: route.matched.alternative,
            destination: Some(at_port(&target.destination, port)),
            target: Some(target.name.clone()),
            authority: Some(
                hostname.clone().unwrap_or_else(|| route.import.authority().unwrap_or(&asked.host).to_owned()),
            ),
            path: Some(path.unwrap_or_else(|| asked.path.clone())),
            request_headers: Some(texts(&lines)),
            response_headers: Some(ResponseHeaders::new(in_turn(&backend_headers.response, &rule_headers.response))),
            forwarding: Some(RouteFeatures { timeouts: *timeouts, mirrors: mirrors.clone(), cors: cors.clone() }),
            ..Self::default()
        }
    }

    pub(super) fn reply(reply: &mcwan_policy::Reply<'_>) -> Self {
        Self {
            kind: OutcomeKind::Reply,
            import: reply.import.map(|import| format!("{}/{}", import.namespace(), import.name())),
            rule: reply.matched.map(|matched| matched.rule),
            r#match: reply.matched.and_then(|matched| matched.alternative),
            reply: Some(Reply { status: reply.status, headers: texts(&reply.headers), body: reply.body.to_owned() }),
            reason: reply.reason.map(mcwan_policy::Reason::as_str),
            ..Self::default()
        }
    }
}

impl ResponseHeaders {
    fn new(HeaderModifier { set, add, remove }: HeaderModifier) -> Self {
        let pair = |header: Header| (header.name.to_ascii_lowercase(), header.value);
        Self {
            set: set.into_iter().map(pair).collect(),
            add: add.into_iter().map(pair).collect(),
            remove: remove.into_iter().map(|name| name.to_ascii_lowercase()).collect(),
        }
    }
}

/// A destination whose port is said, even where it is the client's.
fn at_port(destination: &Destination, used: Option<u16>) -> Destination {
    match destination.clone() {
        Destination::Service { namespace, name, port } => Destination::Service { namespace, name, port: port.or(used) },
        Destination::Import { namespace, name, tier, port } => {
            Destination::Import { namespace, name, tier, port: port.or(used) }
        }
        tier @ Destination::Tier { .. } => tier,
    }
}

/// Header lines as JSON can have them.
fn texts<'l>(lines: impl IntoIterator<Item = &'l HeaderLine>) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    lines.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}
