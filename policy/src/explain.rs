//! A decision with its reasons: for each alternative of the import why it was taken or not.

mod choice;

use std::cell::Cell;

use crate::action::{self, Effect};
use crate::decision::{Decision, RuleMatch};
use crate::host::request_host;
use crate::path::RequestPath;
use crate::query::Query;
use crate::request::Request;
use crate::rule::{Alternative, Mismatch};
use crate::sla::Levels;
use crate::store::Import;
use crate::table::RouteTable;
use crate::wire;

pub use choice::{ConsideredSource, ConsideredTier, TierVerdict};

/// A decision and what was considered for it.
#[derive(Debug)]
pub struct Explanation<'t> {
    /// The decision itself, made by [`RouteTable::decide`].
    pub decision: Decision<'t>,
    /// Every alternative of the import's rules, in the order of their sources; empty where no rule was
    /// looked at.
    pub considered: Vec<Considered<'t>>,
    /// Every tier that the backend may take, in the order of preference; empty where quality does not choose.
    pub tiers: Vec<ConsideredTier<'t>>,
}

/// One alternative, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Considered<'t> {
    /// Which.
    pub matched: RuleMatch,
    /// What came of it.
    pub verdict: Verdict<'t>,
}

/// What came of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'t> {
    /// It matches, and none that matches ranks higher.
    Taken,
    /// It matches, but another ranks higher.
    Outranked,
    /// The path does not match.
    Path,
    /// The client's port is none of the rule's.
    Port,
    /// The method is not this one.
    Method(wire::Method),
    /// No line of this header matches.
    Header(&'t str),
    /// The first value of this query parameter does not match.
    QueryParam(&'t str),
}

impl RouteTable {
    /// Decides as [`RouteTable::decide`] does, and says why. It looks at every rule of the import, so it
    /// is not for the request path.
    pub fn explain<R: Request>(
        &self,
        request: &R,
        levels: Levels<'_>,
        draw: impl FnOnce() -> u64,
    ) -> Result<Explanation<'_>, R::Error> {
        let drawn = Cell::new(None);
        let decision = self.decide(request, levels, || {
            let number = draw();
            drawn.set(Some(number));
            number
        })?;
        let authority = request.authority()?;
        let import = authority.as_deref().and_then(request_host).and_then(|host| self.imports.find(&host));
        let path = request.path()?;
        let path = path.as_deref().and_then(RequestPath::parse);
        let import = import.filter(|import| import.broken().is_none());
        let (Some(import), Some(path)) = (import, path) else {
            return Ok(Explanation { decision, considered: Vec::new(), tiers: Vec::new() });
        };
        let taken = self.imports.first_match(import, request, path)?.map(|found| found.alternative);
        let considered = self.verdicts(request, import, path, taken)?;
        // What needed no number for the decision needs none here.
        let effect = taken
            .and_then(|taken| action::choose(import.actions(taken.rule), || drawn.get().unwrap_or_default()))
            .map(|(effect, _)| effect);
        let tiers = match effect {
            Some(Effect::Choose(choice)) => choice::tiers(choice, import, &self.paths, levels),
            Some(Effect::Forward { .. } | Effect::Redirect(_) | Effect::Refuse(..)) | None => Vec::new(),
        };
        Ok(Explanation { decision, considered, tiers })
    }

    fn verdicts<'t, R: Request>(
        &'t self,
        request: &R,
        import: Import<'t>,
        path: RequestPath<'_>,
        taken: Option<&Alternative>,
    ) -> Result<Vec<Considered<'t>>, R::Error> {
        let taken = taken.map(Alternative::matched);
        let query = Query::new(path.query);
        let mut considered = Vec::new();
        for (alternative, on_path) in self.imports.alternatives(import, path) {
            let matched = alternative.matched();
            let verdict = match alternative.mismatch(request, &query)? {
                _ if !on_path => Verdict::Path,
                Some(mismatch) => mismatch.into(),
                None if taken == Some(matched) => Verdict::Taken,
                None => Verdict::Outranked,
            };
            considered.push(Considered { matched, verdict });
        }
        considered.sort_by_key(|considered| (considered.matched.rule, considered.matched.alternative));
        Ok(considered)
    }
}

impl<'t> From<Mismatch<'t>> for Verdict<'t> {
    fn from(mismatch: Mismatch<'t>) -> Self {
        match mismatch {
            Mismatch::Port => Self::Port,
            Mismatch::Method(method) => Self::Method(method),
            Mismatch::Header(name) => Self::Header(name),
            Mismatch::QueryParam(name) => Self::QueryParam(name),
        }
    }
}
