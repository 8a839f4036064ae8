//! The tiers that a rule with `sla` chooses among, and what is measured for it.

use std::collections::BTreeSet;

use mcwan_policy::limits;
use mcwan_policy::wire::{self, Action, Choose, Refuse, RefuseReason};

use crate::api::{GROUP, HttpRule, RuleSla, Sla, TIER_NAMESPACE, WhenNoneInSla};
use crate::problem::FieldPath;

use super::backend::{self, Reference, Referrer};
use super::refusal::Refusal;
use super::rule::{Fallbacks, Rules, reference_of};
use super::{Destination, Forwarding, Origin, Source, Steering, Tier, tier_service};

impl Rules<'_> {
    /// The tiers that a rule may fall back to. One that cannot be is told, and the others hold.
    pub(super) fn fallbacks(&mut self, origin: &Origin, rule: &HttpRule, sla: &RuleSla) -> Result<Fallbacks, Refusal> {
        let RuleSla { fallbacks, when_none_in_sla } = sla;
        let backends: Vec<_> =
            rule.backend_refs.iter().map(|backend| self.resolve(reference_of(origin, backend))).collect();
        let own: BTreeSet<_> = backends.iter().flatten().filter_map(Destination::tier).collect();
        if own.is_empty() && backends.iter().all(Result::is_ok) {
            return Err(Refusal::unsupported("it chooses among tiers, and no backend of the rule is one").at("sla"));
        }
        let mut tiers = Vec::new();
        for (index, name) in fallbacks.iter().enumerate() {
            let tier = if fallbacks.iter().take(index).any(|earlier| earlier == name) {
                Err(Refusal::invalid(format!("tier {name} is a fallback already")))
            } else if own.len() == 1 && own.contains(&**name) {
                Err(Refusal::invalid(format!("tier {name} is the backend's own")))
            } else {
                self.tier_named(origin, name)
            };
            match tier {
                Ok(tier) => tiers.push(tier),
                Err(refusal) => drop(self.report(origin, refusal.at(FieldPath::from("sla.fallbacks").index(index)))),
            }
        }
        let when_none_in_sla = match when_none_in_sla {
            WhenNoneInSla::Preferred => wire::WhenNoneInSla::Preferred,
            WhenNoneInSla::Refuse => wire::WhenNoneInSla::Refuse,
        };
        Ok(Fallbacks { tiers, when_none_in_sla })
    }

    /// Sends requests to the first tier that keeps its promise: the backend's own, or else one that it may fall back to.
    pub(super) fn choose(
        &mut self,
        own: &str,
        fallbacks: &Fallbacks,
        forwarding: &Forwarding,
        path: Option<wire::PathRewrite>,
        weight: u32,
    ) -> Result<Action, Refusal> {
        let own = self.tier_to_choose(own)?;
        let Fallbacks { tiers, when_none_in_sla } = fallbacks;
        let others = tiers.iter().filter(|tier| tier.name != own.name);
        let candidates = [&own].into_iter().chain(others).map(|tier| self.candidate(tier, forwarding)).collect();
        Ok(Action::Choose(Choose { weight, path, candidates, when_none_in_sla: *when_none_in_sla }))
    }

    fn tier_named(&mut self, origin: &Origin, name: &str) -> Result<Tier, Refusal> {
        let from = origin.referrer();
        self.resolve(Reference { group: GROUP, kind: "WANPolicy", namespace: None, name, port: None, from })?;
        self.tier_to_choose(name)
    }

    fn tier_to_choose(&self, name: &str) -> Result<Tier, Refusal> {
        let Referrer { key, namespace, name: service, ports: _ } = self.referrer;
        let tier = self.exports.tier(namespace, service, name);
        let tier = tier.and_then(|tier| backend::without_own_share(tier, &key.namespace, self.snapshot));
        let tier = tier.ok_or_else(|| Refusal::not_found(format!("no cluster has the service over tier {name}")))?;
        let clusters = tier.sources.len();
        if clusters > limits::CANDIDATE_SOURCES {
            let most = limits::CANDIDATE_SOURCES;
            let message = format!("`sla` chooses among at most {most} clusters, and {clusters} have the service");
            return Err(Refusal::unsupported(message));
        }
        if tier.sources.iter().any(|source| source.is_own) {
            let (namespace, name) = (namespace.to_owned(), service.to_owned());
            self.check_steering(&Destination::Service { namespace, name, port: None }, &Forwarding::default())?;
        }
        Ok(tier)
    }

    fn candidate(&mut self, tier: &Tier, forwarding: &Forwarding) -> wire::Candidate {
        let shares = tier.shares(self.referrer.ports, self.families, self.stays_close);
        let is_alone = shares.len() == 1;
        let source = |(source, share): (&Source, u32)| {
            let destination = Destination::Tier { name: tier.name.clone(), cluster: Some(source.cluster.clone()) };
            let target = self.target(destination, forwarding.clone());
            let path = (!source.is_own).then(|| self.path(tier, source, target));
            // Of one that is alone, the pods make no difference.
            wire::Source { target, weight: if is_alone { 1 } else { share }, path }
        };
        wire::Candidate { sources: shares.into_iter().map(source).collect() }
    }

    /// The place of the path to a cluster over a tier, which is measured through the Envoy cluster that a target leads to.
    fn path(&mut self, tier: &Tier, source: &Source, target: u32) -> u32 {
        let is_known = |path: &wire::WanPath| path.tier == tier.name && path.cluster == source.cluster;
        let place = self.paths.iter().position(is_known).unwrap_or_else(|| {
            self.paths.push(self.wan_path(tier, source, target));
            self.paths.len() - 1
        });
        place.try_into().unwrap_or(u32::MAX)
    }

    fn wan_path(&self, tier: &Tier, source: &Source, target: u32) -> wire::WanPath {
        let Referrer { key, namespace, .. } = self.referrer;
        let policy = self.snapshot.wan_policies.get("", &tier.name).map(|policy| &policy.spec);
        let probe = policy.and_then(|policy| policy.probe).unwrap_or_default();
        let sla = policy.and_then(|policy| policy.sla.clone()).unwrap_or_default();
        let Sla { latency_ms, jitter_ms, loss_percent } = sla;
        wire::WanPath {
            tier: tier.name.clone(),
            cluster: source.cluster.clone(),
            namespace: namespace.to_owned(),
            latency_ms,
            jitter_ms,
            loss_ppm: loss_percent.map(|loss| loss.parts_per_million()),
            interval_ms: probe.interval_ms(),
            envoy_cluster: match self.options.steering {
                Steering::RouteHeader => {
                    let service = tier_service::source_service(key, tier, source);
                    format!("outbound|{}||{service}.{TIER_NAMESPACE}.svc.cluster.local", tier.port)
                }
                Steering::ClusterHeader => self.targets.steering_value(target).unwrap_or_default(),
            },
        }
    }
}

/// Takes from an action the targets that are not to be taken. Of a tier's clusters the others take its requests, and a tier
/// without any is none to fall back to; where it is the backend's own, requests are refused.
pub(super) fn withdraw(action: &mut Action, is_missing: impl Fn(u32) -> bool, reason: RefuseReason) {
    if !action.targets().any(&is_missing) {
        return;
    }
    if let Action::Choose(Choose { candidates, .. }) = action {
        for candidate in &mut *candidates {
            candidate.sources.retain(|source| !is_missing(source.target));
        }
        if candidates.first().is_some_and(|own| !own.sources.is_empty()) {
            candidates.retain(|candidate| !candidate.sources.is_empty());
            return;
        }
    }
    *action = Action::Refuse(Refuse::new(action.weight(), reason));
}
