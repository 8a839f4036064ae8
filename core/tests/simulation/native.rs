//! Gateways whose routes are the rules themselves: what they do with a request is what the route says that asks for most of
//! its path (Gateway API, `HTTPRouteRule.matches`), and no filter has a say.

use std::collections::BTreeMap;

use mcwan_core::emit::kubernetes::native_objects;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::Import;

use crate::gateway::Pod;
use crate::istiod::{Backend, Crossings, Lead, ParsedRule, Routes, parse};
use crate::told::{Request, RequestOutcome, host_of};

/// Rules by the port of their listener and their host.
pub(crate) type PathRules = BTreeMap<(u16, String), Vec<PathRule>>;

/// A rule for the requests of a path.
#[derive(Debug, PartialEq)]
pub(crate) struct PathRule {
    import: Key,
    prefix: String,
    /// Where each of its backends with a share leads, or why to nowhere.
    backends: Vec<Result<Lead, String>>,
}

impl PathRule {
    /// A rule with where its backends lead.
    pub(crate) fn of(rule: &ParsedRule, resolve: impl Fn(&Backend) -> Result<Lead, String>) -> Self {
        let backends = rule.backends.iter().map(resolve).collect();
        Self { import: rule.import.clone(), prefix: rule.prefix.clone(), backends }
    }

    fn takes(&self, path: &str) -> bool {
        let rest = path.strip_prefix(self.prefix.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Where its requests cross the WAN to.
    pub(crate) fn crosses(&self) -> Crossings {
        self.backends.iter().flatten().map(|lead| lead.crosses).fold(Crossings::default(), Crossings::and)
    }
}

/// What becomes of a request.
fn outcome(rules: &PathRules, request: &Request, find: impl Fn(&Lead) -> Result<(), String>) -> RequestOutcome {
    let Some(own) = rules.get(&(request.port, request.host.clone())) else { return RequestOutcome::Unknown };
    let Some(rule) = own.iter().rev().filter(|rule| rule.takes(request.path)).max_by_key(|rule| rule.prefix.len())
    else {
        return RequestOutcome::Replied { import: own.first().map(|rule| rule.import.clone()), status: 404 };
    };
    let import = rule.import.clone();
    let backend = if request.draw == 0 { rule.backends.first() } else { rule.backends.last() };
    match backend {
        None => RequestOutcome::Replied { import: Some(import), status: 500 },
        Some(Ok(lead)) => match find(lead) {
            Ok(()) => RequestOutcome::Reached { import, target: lead.services.iter().map(|to| &*to.service).collect() },
            Err(why) => RequestOutcome::Lost { import, why },
        },
        Some(Err(why)) => RequestOutcome::Lost { import, why: format!("500: {why}") },
    }
}

/// What becomes of requests; `find` fails where Envoy does not have what a rule leads to.
pub(crate) fn outcomes(
    routes: &Routes,
    requests: &[Request],
    find: impl Fn(&Lead) -> Result<(), String>,
) -> Vec<RequestOutcome> {
    let outcome = |request: &Request| {
        let is_heard = routes.listeners.contains(&request.port);
        if is_heard { outcome(&routes.paths, request, &find) } else { RequestOutcome::Unknown }
    };
    requests.iter().map(outcome).collect()
}

/// What rules say of requests, wherever there are listeners and Services.
pub(crate) fn said_by(rules: &PathRules, requests: &[Request]) -> Vec<RequestOutcome> {
    requests.iter().map(|request| outcome(rules, request, |_| Ok(()))).collect()
}

/// What becomes of these requests where there is one import alone, and everything that its rules lead to.
pub(crate) fn said(import: &Import, requests: &[Request]) -> Vec<RequestOutcome> {
    let mut rules = PathRules::new();
    for route in native_objects(&[import], |_| true).0 {
        for rule in parse(&route.body) {
            let there =
                |backend: &Backend| Ok(Lead { services: vec![backend.service()], crosses: Crossings::default() });
            rules.entry((rule.at.listener, rule.at.host.clone())).or_default().push(PathRule::of(&rule, there));
        }
    }
    said_by(&rules, requests)
}

impl Pod {
    /// Whether it does what an import says of its own host and ports, or would if that led anywhere.
    pub(crate) fn does(&self, import: &Import, requests: &[Request]) -> bool {
        let Some(routes) = &self.routes.known else { return false };
        let host = host_of(&import.key);
        let own = requests.iter().filter(|request| request.host == host && import.ports.contains(&request.port));
        let own: Vec<Request> = own.cloned().collect();
        let mut both = said(import, &own).into_iter().zip(outcomes(routes, &own, |_| Ok(())));
        both.all(|(wanted, found)| wanted == found || matches!(found, RequestOutcome::Lost { .. }))
    }
}
