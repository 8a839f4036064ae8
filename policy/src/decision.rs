//! What is done with one request.

use crate::{CompiledTarget, HeaderLine, Import, Reason};

/// The request header that names the target to the route behind the filter. The only one that mcwan
/// trusts, and only because the filter sets or removes it on every request.
pub const STEERING_HEADER: &str = "x-mcwan-target";

/// The request header that tells the far gateway which port of the service was meant.
pub const PORT_HEADER: &str = "x-mcwan-port";

/// The request header that keeps the host that the client used, of requests for hosts that somebody chose.
pub const FORWARDED_HOST_HEADER: &str = "x-forwarded-host";

/// The response header that tells why mcwan answered itself.
pub const REASON_HEADER: &str = "x-mcwan-reason";

/// What is done with one request.
#[derive(Clone, Debug)]
pub enum Decision<'t> {
    /// The host is none of ours: remove the steering header and let it go on.
    Pass,
    /// Send it to a target.
    Route(Route<'t>),
    /// Answer it here.
    Reply(Reply<'t>),
}

/// A match of a rule, by indices from 0 in the order of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// The rule in its import.
    pub rule: usize,
    /// The match in its rule; none where the rule has none and so matches every request.
    pub alternative: Option<usize>,
}

/// Send the request to a target.
#[derive(Clone, Debug)]
pub struct Route<'t> {
    /// The import that has the request's host.
    pub import: Import<'t>,
    /// What matched.
    pub matched: RuleMatch,
    /// Where the request goes; its steering value is the new steering header.
    pub target: CompiledTarget<'t>,
    /// The new `:path`; none: it stays.
    pub path: Option<Vec<u8>>,
}

/// Answer the request.
#[derive(Clone, Debug)]
pub struct Reply<'t> {
    /// The import that has the request's host, where one has.
    pub import: Option<Import<'t>>,
    /// What matched, where something did.
    pub matched: Option<RuleMatch>,
    /// HTTP status.
    pub status: u16,
    /// Header lines in order, names in lower case.
    pub headers: Vec<HeaderLine>,
    /// A sentence for the person at the client; empty for a redirect.
    pub body: &'static str,
    /// Why; none for a redirect.
    pub reason: Option<Reason>,
}

impl<'t> Decision<'t> {
    /// The answer that a reason has.
    pub fn refuse(reason: Reason, import: Option<Import<'t>>, matched: Option<RuleMatch>) -> Self {
        Self::answer(reason, reason.status(import.map(Import::no_match).unwrap_or_default()), import, matched)
    }

    /// The same with a status of its own.
    pub(crate) fn answer(reason: Reason, status: u16, import: Option<Import<'t>>, matched: Option<RuleMatch>) -> Self {
        let headers = vec![(REASON_HEADER.as_bytes().to_vec(), reason.as_str().as_bytes().to_vec())];
        Self::Reply(Reply { import, matched, status, headers, body: reason.sentence(), reason: Some(reason) })
    }
}
