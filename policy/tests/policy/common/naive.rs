//! The naive scan: what a config does with a request, written straight from the specification
//! (RESOURCES; Gateway API's `HTTPRoute`, v1.5) with nothing indexed and nothing compiled.

mod action;
pub(crate) mod choice;
pub(crate) mod host;
mod matching;
mod precedence;
mod soundness;

use mcwan_policy::RuleMatch;
use mcwan_policy::sla::Level;
use mcwan_policy::wire::{Action, Import, Match, NoMatch, PluginConfig, UnknownHosts};

pub(crate) use self::matching::path_holds;

use super::{Asked, TableOutcome};

/// A match that holds, with its place.
#[derive(Clone, Copy)]
struct Candidate<'c> {
    at: RuleMatch,
    /// The match; a rule without matches has the one that says nothing.
    alternative: &'c Match,
}

impl Candidate<'_> {
    /// Whether it holds for a request, on the port that the client used.
    fn holds(&self, import: &Import, request: &Asked) -> bool {
        let ports = &import.rules[self.at.rule].ports;
        let is_on_port = || action::port_of_client(request).is_some_and(|port| ports.contains(&port));
        (ports.is_empty() || is_on_port()) && matching::holds(self.alternative, request)
    }
}

/// What the config does with the request, given the levels of its paths and the draw for its weights.
pub(crate) fn decide(config: &PluginConfig, request: &Asked, levels: &[Level], draw: u64) -> TableOutcome {
    let Some(authority) = usable_authority(request) else {
        return refusal(None, None, 400, "BadRequest");
    };
    let Some((import, host)) = host::scope(config, authority) else {
        return match config.unknown_hosts {
            UnknownHosts::Pass => TableOutcome::Pass,
            UnknownHosts::Refuse => refusal(None, None, 404, "UnknownHost"),
        };
    };
    if !request.path.as_ref().is_some_and(|path| path.starts_with(b"/")) {
        return refusal(Some(import), None, 400, "BadRequest");
    }
    if !soundness::is_sound(import) {
        return refusal(Some(import), None, 500, "InvalidMatch");
    }
    let holding = alternatives(import, host).filter(|candidate| candidate.holds(import, request));
    let best = holding.reduce(|best, next| if precedence::outranks(&next, &best) { next } else { best });
    match best {
        Some(candidate) => action::take(import, candidate, request, levels, draw),
        None => refusal(Some(import), None, no_match_status(import), "NoRuleMatched"),
    }
}

/// Every match of the rules of an import for a host, or for the hosts that no rule names, in the order of the sources.
fn alternatives<'c>(import: &'c Import, host: Option<&str>) -> impl Iterator<Item = Candidate<'c>> {
    const ANYTHING: &Match = &Match { path: None, method: None, headers: Vec::new(), query_params: Vec::new() };
    let rules = import.rules.iter().enumerate().filter(move |(_, rule)| rule.host.as_deref() == host);
    rules.flat_map(|(rule, source)| {
        let given = source.matches.iter().enumerate();
        let given = given.map(move |(index, alternative)| (Some(index), alternative));
        let default = source.matches.is_empty().then_some((None, ANYTHING));
        given
            .chain(default)
            .map(move |(index, alternative)| Candidate { at: RuleMatch { rule, alternative: index }, alternative })
    })
}

/// The place of every match for a request's host, and whether it holds.
pub(crate) fn considered(config: &PluginConfig, request: &Asked) -> Vec<(RuleMatch, bool)> {
    let scope = usable_authority(request).and_then(|authority| host::scope(config, authority));
    let Some((import, host)) = scope else { return Vec::new() };
    alternatives(import, host).map(|candidate| (candidate.at, candidate.holds(import, request))).collect()
}

/// The matches whose path holds: all that may be asked about.
pub(crate) fn alternatives_on_path<'c>(config: &'c PluginConfig, request: &Asked) -> Vec<&'c Match> {
    let scope = usable_authority(request).and_then(|authority| host::scope(config, authority));
    let all =
        scope.into_iter().flat_map(|(import, host)| alternatives(import, host)).map(|candidate| candidate.alternative);
    all.filter(|alternative| path_holds(alternative, request)).collect()
}

/// The import that has a request's host.
pub(crate) fn owner<'c>(config: &'c PluginConfig, request: &Asked) -> Option<&'c Import> {
    host::scope(config, usable_authority(request)?).map(|(import, _)| import)
}

/// Whether what is done with a request that a rule matches depends on the draw.
pub(crate) fn needs_a_draw(
    config: &PluginConfig,
    request: &Asked,
    outcome: &TableOutcome,
    levels: &[Level],
    draw: u64,
) -> bool {
    let actions = outcome.matched().and_then(|matched| Some(&owner(config, request)?.rules[matched.rule].actions));
    // An action that cannot be shares nothing out.
    let is_sound = !matches!(outcome, TableOutcome::Refuse { reason, .. } if reason == "InvalidFilter");
    let is_shared = || drawn(config, request, outcome, draw).is_some_and(|action| action::is_shared(action, levels));
    actions.is_some_and(|actions| action::are_several(actions)) || is_sound && is_shared()
}

/// The action that a draw falls on, of the rule that a request was matched by.
pub(crate) fn drawn<'c>(
    config: &'c PluginConfig,
    request: &Asked,
    outcome: &TableOutcome,
    draw: u64,
) -> Option<&'c Action> {
    let actions = &owner(config, request)?.rules[outcome.matched()?.rule].actions;
    action::choose(actions, draw).map(|(action, _)| action)
}

/// The authority, unless it is absent, not text, or names no host.
fn usable_authority(request: &Asked) -> Option<&str> {
    let authority = std::str::from_utf8(request.authority.as_ref()?).ok()?;
    (!host::normalised(authority).is_empty()).then_some(authority)
}

fn no_match_status(import: &Import) -> u16 {
    match import.no_match {
        NoMatch::Forbidden => 403,
        NoMatch::NotFound => 404,
        NoMatch::TooManyRequests => 429,
        NoMatch::ServiceUnavailable => 503,
    }
}

fn key(import: &Import) -> String {
    format!("{}/{}", import.namespace, import.name)
}

fn refusal(import: Option<&Import>, matched: Option<RuleMatch>, status: u16, reason: &str) -> TableOutcome {
    TableOutcome::Refuse { import: import.map(key), matched, status, reason: reason.to_owned() }
}
