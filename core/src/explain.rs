//! What the gateway does with a request, and why: decided by the table that ships, forwarded by the
//! targets that the routes are made of.

mod outcome;
mod request;
mod tiers;
mod verdict;

use std::collections::BTreeSet;

pub use outcome::{Outcome, OutcomeKind, Reply, ResponseHeaders, RouteFeatures};
pub use request::Asked;
pub use tiers::{ClusterOutcome, TierChoice, TierOutcome};
pub use verdict::ConsideredAlternative;

use mcwan_policy::Decision;
use mcwan_policy::sla::{Level, Levels};

use crate::emit::plugin::Plugin;
use crate::translate::{Import, Translation};

/// Answers for one gateway.
#[derive(Clone, Copy, Debug)]
pub struct Explainer<'e> {
    translation: &'e Translation,
    plugin: &'e Plugin,
    levels: Levels<'e>,
}

impl<'e> Explainer<'e> {
    /// For a gateway that has a plugin made of a translation.
    pub fn new(translation: &'e Translation, plugin: &'e Plugin) -> Self {
        Self { translation, plugin, levels: Levels::ALL_IN }
    }

    /// The same while the paths that are measured are on these levels, by their places in the plugin's table.
    #[must_use]
    pub fn at(self, levels: &'e [Level]) -> Self {
        Self { levels: Levels::new(levels), ..self }
    }

    /// What becomes of a request; `draw` is a uniform number for a choice by weight.
    pub fn explain(&self, asked: &Asked, draw: u64) -> (Outcome, Vec<ConsideredAlternative>) {
        let asked = &asked.clone().or_port(&self.ports());
        let Ok(explanation) = self.plugin.table.explain(asked, self.levels, || draw);
        let import = match &explanation.decision {
            Decision::Pass => None,
            Decision::Route(route) => self.import(route.import),
            Decision::Reply(reply) => reply.import.and_then(|import| self.import(import)),
        };
        let mut outcome = match &explanation.decision {
            Decision::Pass => Outcome::pass(asked),
            Decision::Reply(reply) => Outcome::reply(reply),
            Decision::Route(route) => {
                let targets = import.map(|import| &*import.targets).unwrap_or_default();
                let Some(target) = targets.iter().find(|target| target.name == route.target.name()) else {
                    unreachable!("the table was compiled from this translation");
                };
                let port = asked.port.or_else(|| import?.ports.first().copied());
                Outcome::route(route, asked, target, port)
            }
        };
        if let Some(((import, rule), reason)) = import.zip(outcome.rule).zip(outcome.reason) {
            let all = verdict::problems(import, rule, reason).flat_map(|problem| &problem.not_permitted);
            outcome.not_permitted = Some(all.cloned().collect()).filter(|all: &Vec<_>| !all.is_empty());
        }
        let tiers = import
            .into_iter()
            .flat_map(|import| explanation.tiers.iter().filter_map(move |tier| TierOutcome::new(tier, import)));
        outcome.tiers = Some(tiers.collect()).filter(|tiers: &Vec<_>| !tiers.is_empty());
        let considered = import.map(|import| {
            explanation
                .considered
                .iter()
                .map(|considered| ConsideredAlternative::new(considered, import, outcome.reason))
                .collect()
        });
        (outcome, considered.unwrap_or_default())
    }

    fn import(&self, compiled: mcwan_policy::Import<'_>) -> Option<&'e Import> {
        let is =
            |import: &&Import| import.wire.namespace == compiled.namespace() && import.wire.name == compiled.name();
        self.translation.imports.iter().find(is)
    }

    /// The ports that clients use.
    fn ports(&self) -> BTreeSet<u16> {
        self.translation.imports.iter().flat_map(|import| &import.ports).copied().collect()
    }
}
