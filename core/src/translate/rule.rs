//! One rule: from Gateway API's form to matches and actions, its targets collected on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use mcwan_policy::wire::{self, Action, Forward, Refuse, RefuseReason, RefuseStatus, WanPath};

use crate::api::{self, BackendRef, HttpRule, RequestMirror, Timeouts};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Snapshot};

use super::backend::{self, Reference, Referrer};
use super::filters::{self, Filters};
use super::front_end::{Deed, FrontRule, Share};
use super::refusal::Refusal;
use super::target;
use super::{Destination, Exports, Families, Forwarding, Mirror, Options, Origin, Steering, Target, Tier};

/// The share of requests that mirrors count in.
const MILLION: u32 = 1_000_000;

/// Everything that the rules of one import are translated with.
pub(super) struct Rules<'r> {
    pub(super) object: ObjectRef,
    pub(super) referrer: Referrer<'r>,
    pub(super) snapshot: &'r Snapshot,
    pub(super) exports: &'r Exports,
    pub(super) options: &'r Options,
    /// The addresses that egress gateways can send requests to.
    pub(super) families: Families,
    /// Whether requests go to other clusters only where this one has no ready pod.
    pub(super) stays_close: bool,
    pub(super) targets: Targets,
    /// What is measured for them, by the index that they name it by.
    pub(super) paths: Vec<WanPath>,
    /// The Services and other imports that they name, there or not.
    pub(super) services: BTreeSet<Key>,
    pub(super) problems: &'r mut Vec<Problem>,
}

/// The targets of rules, each once.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) list: Vec<Target>,
    /// A name tells what a target does.
    by_name: BTreeMap<String, usize>,
}

/// What the backends of a rule may take in place of their own tiers.
pub(super) struct Fallbacks {
    pub(super) tiers: Vec<Tier>,
    pub(super) when_none_in_sla: wire::WhenNoneInSla,
}

impl Rules<'_> {
    /// Translates a rule. What cannot be done answers 500 for what it matches.
    pub(super) fn translate(
        &mut self,
        FrontRule { origin, host, matches, ports, deed, refused }: &FrontRule<'_>,
    ) -> wire::Rule {
        let actions = match deed {
            Deed::Asked(_, Some(fault)) => Err(Refusal::unreadable(fault)),
            Deed::Asked(rule, None) => self.actions(origin, rule),
            Deed::Shared(shares) => Ok(shares.iter().map(|share| self.share(origin, share)).collect()),
            Deed::Redirected(redirect) => Ok(vec![Action::Redirect(redirect.clone())]),
        };
        let mut actions = actions.unwrap_or_else(|refusal| vec![self.refuse(origin, 1, refusal)]);
        answer_with(*refused, &mut actions);
        wire::Rule { host: host.clone(), matches: matches.clone(), ports: ports.clone(), actions }
    }

    /// The rule of an import that nobody wrote rules for.
    pub(super) fn default_tier(&mut self) -> wire::Rule {
        let Referrer { namespace, name, .. } = self.referrer;
        let Some(tier) = self.exports.default_tier(namespace, name) else {
            if self.exports.is_own_alone(namespace, name) {
                let own = Destination::Service { namespace: namespace.to_owned(), name: name.to_owned(), port: None };
                let action = self.forward(own, Forwarding::default(), None, 1);
                return wire::Rule { actions: vec![action], ..wire::Rule::default() };
            }
            let message = "there are no rules, and no export names a default tier";
            let hint = "annotate the ServiceExport with `mc-wan.l7mp.io/wan-policy`, or write rules";
            self.problems.push(Problem::error(self.object.clone(), Reason::NoTier, message).hint(hint));
            return wire::Rule::default();
        };
        let reference =
            Reference { group: api::GROUP, kind: "WANPolicy", namespace: None, name: tier, port: None, from: ("", "") };
        let action = match backend::resolve(reference, self.referrer, self.snapshot, self.exports) {
            Ok(destination) => self.forward(destination, Forwarding::default(), None, 1),
            Err(Refusal { reason, message, not_permitted, .. }) => {
                let message = format!("the default tier of the export: {message}");
                let problem = Problem::error(self.object.clone(), reason.into(), message);
                self.problems.push(Problem { not_permitted, ..problem });
                Action::Refuse(Refuse::new(1, reason))
            }
        };
        wire::Rule { actions: vec![action], ..wire::Rule::default() }
    }

    fn actions(&mut self, origin: &Origin, rule: &HttpRule) -> Result<Vec<Action>, Refusal> {
        let HttpRule { name: _, matches: _, filters, backend_refs, timeouts: _, sla, retry, session_persistence } =
            rule;
        let unsupported = [
            ("retry", retry.is_some()),
            ("sessionPersistence", session_persistence.is_some()),
            ("sla", sla.is_some() && origin.group != api::GROUP),
        ];
        if let Some((field, _)) = unsupported.into_iter().find(|(_, used)| *used) {
            let message = format!("the standard channel of HTTPRoute has no `{field}`");
            return Err(Refusal::unsupported(message).at(field));
        }
        let filters = Filters::new(filters).map_err(|refusal| refusal.at("filters"))?;
        let fallbacks = sla.as_ref().map(|sla| self.fallbacks(origin, rule, sla)).transpose()?;
        if filters.redirect.is_some() && !backend_refs.is_empty() {
            return Err(Refusal::invalid("a rule that redirects has no backends").at("backendRefs"));
        }
        if let Some(asked) = filters.redirect {
            let redirect =
                filters.beside_a_redirect().and_then(|()| filters::redirect(asked, 1, &filters.headers.response));
            let redirect = redirect.map_err(|refusal| refusal.at("filters"))?;
            return Ok(vec![Action::Redirect(redirect)]);
        }
        if backend_refs.iter().all(|backend| backend.weight == 0) {
            let message = "no backend takes any request";
            self.problems.push(origin.error("backendRefs", Reason::NoBackend, message));
        }
        let mut actions = Vec::with_capacity(backend_refs.len());
        for (position, backend) in backend_refs.iter().enumerate() {
            let action = self.action((origin, rule), (&filters, fallbacks.as_ref()), position, backend);
            actions.push(action.unwrap_or_else(|refusal| self.refuse(origin, backend.weight, refusal)));
        }
        Ok(actions)
    }

    fn action(
        &mut self,
        (origin, rule): (&Origin, &HttpRule),
        (rule_filters, fallbacks): (&Filters<'_>, Option<&Fallbacks>),
        position: usize,
        backend: &BackendRef,
    ) -> Result<Action, Refusal> {
        let field = FieldPath::from("backendRefs").index(position);
        let at_filters = |refusal: Refusal| refusal.at(field.field("filters"));
        let own = Filters::new(&backend.filters).map_err(at_filters)?;
        let destination = self.resolve(reference_of(origin, backend)).map_err(|refusal| refusal.at(field.clone()))?;
        self.tell_of_own_share(origin, &field, &destination);
        if let Some(asked) = own.redirect {
            let headers = filters::in_turn(&own.headers.response, &rule_filters.headers.response);
            let sound = own.beside_a_redirect().and_then(|()| rule_filters.beside_a_redirect());
            let redirect = sound.and_then(|()| filters::redirect(asked, backend.weight, &headers));
            let redirect = redirect.map_err(at_filters)?;
            return Ok(Action::Redirect(redirect));
        }
        let twice = (own.path.is_some() && rule_filters.path.is_some())
            || (own.hostname.is_some() && rule_filters.hostname.is_some())
            || (own.cors.is_some() && rule_filters.cors.is_some());
        if twice {
            return Err(at_filters(Refusal::invalid("the rule and its backend both change the same thing")));
        }
        let hostname = own.hostname.or_else(|| rule_filters.hostname.clone());
        let hostname = hostname.or_else(|| match &destination {
            // The filter writes the host of the import that has the rule.
            Destination::Import { namespace, name, .. } => Some(mcwan_policy::canonical_host(namespace, name)),
            Destination::Tier { .. } | Destination::Service { .. } => None,
        });
        let mirrors = rule_filters.mirrors.iter().chain(&own.mirrors);
        let mirrors = mirrors.map(|mirror| self.mirror(origin, mirror)).collect::<Result<Vec<_>, _>>();
        let mirrors = mirrors.map_err(|refusal| refusal.at("filters"))?;
        check_mirrors(&destination, &mirrors).map_err(|refusal| refusal.at("filters"))?;
        if let Some(hostname) = &hostname {
            // Copies have it, too.
            let copied_to = mirrors.iter().map(|mirror| &mirror.destination);
            let mut over_tiers = copied_to.filter(|to| to.tier().is_some()).chain([&destination]);
            let sound = over_tiers.try_for_each(|to| self.check_hostname(hostname, to));
            sound.map_err(|refusal| refusal.at("filters"))?;
        }
        let forwarding = Forwarding {
            backend_headers: own.headers,
            rule_headers: rule_filters.headers.clone(),
            hostname,
            timeouts: rule.timeouts.filter(|timeouts| *timeouts != Timeouts::default()),
            mirrors,
            cors: own.cors.or(rule_filters.cors).cloned(),
        };
        self.check_steering(&destination, &forwarding).map_err(|refusal| refusal.at(field.clone()))?;
        let path = own.path.or_else(|| rule_filters.path.clone());
        match (destination.tier(), fallbacks) {
            (Some(tier), Some(fallbacks)) => self
                .choose(tier, fallbacks, &forwarding, path, backend.weight)
                .map_err(|refusal| refusal.at(field.clone())),
            _ => Ok(self.forward(destination, forwarding, path, backend.weight)),
        }
    }

    fn share(&mut self, origin: &Origin, share: &Share) -> Action {
        let Share { destination, forwarding, path, weight } = share;
        match self.check_steering(destination, forwarding) {
            Ok(()) => self.forward(destination.clone(), forwarding.clone(), path.clone(), *weight),
            Err(refusal) => self.refuse(origin, *weight, refusal),
        }
    }

    fn forward(
        &mut self,
        destination: Destination,
        forwarding: Forwarding,
        path: Option<wire::PathRewrite>,
        weight: u32,
    ) -> Action {
        Action::Forward(Forward { target: self.target(destination, forwarding), weight, path })
    }

    /// The place of the target for a destination.
    pub(super) fn target(&mut self, destination: Destination, forwarding: Forwarding) -> u32 {
        let Referrer { key, .. } = self.referrer;
        let target = target::name(&destination, &forwarding, &key.namespace);
        let index = self.targets.by_name.get(&target).copied().unwrap_or_else(|| {
            let meaning = self.meaning(&target, &destination, &forwarding);
            let digest = self.options.steering_key.digest(&key.namespace, &key.name, &meaning);
            let Targets { list, by_name } = &mut self.targets;
            by_name.insert(target.clone(), list.len());
            list.push(Target { name: target, digest, destination, forwarding });
            list.len() - 1
        });
        // What is out of bounds is refused where the rules are checked.
        index.try_into().unwrap_or(u32::MAX)
    }

    /// What a target means now.
    fn meaning(&self, target: &str, destination: &Destination, forwarding: &Forwarding) -> String {
        let destinations = iter::once(destination).chain(forwarding.mirrors.iter().map(|mirror| &mirror.destination));
        let Referrer { namespace, name, .. } = self.referrer;
        // The port that routes name: none, where all requests stay in this cluster.
        let port = |destination: &Destination| match destination {
            Destination::Tier { name: tier, .. } => {
                let tier = self.exports.tier(namespace, name, tier)?;
                tier.remote().next().map(|_| tier.port)
            }
            Destination::Import { namespace, name, tier, port: _ } => {
                let tier = self.exports.tier(namespace, name, tier)?;
                tier.remote().next().map(|_| tier.port)
            }
            Destination::Service { .. } => None,
        };
        target::meaning(target, destinations.filter_map(port))
    }

    pub(super) fn resolve(&mut self, reference: Reference<'_>) -> Result<Destination, Refusal> {
        self.services.extend(reference.service(&self.referrer.key.namespace));
        self.services.extend(reference.import(&self.referrer.key.namespace));
        backend::resolve(reference, self.referrer, self.snapshot, self.exports)
    }

    /// Others may take what this cluster's own share does not.
    fn tell_of_own_share(&mut self, origin: &Origin, field: &FieldPath, destination: &Destination) {
        let Some(tier) = destination.tier() else { return };
        let Referrer { key, namespace, name, ports: _ } = self.referrer;
        let tier = self.exports.tier(namespace, name, tier);
        let missing = tier.and_then(|tier| backend::check_own_share(&tier, &key.namespace, self.snapshot).err());
        if let Some(Refusal { reason, message, hint, .. }) = missing {
            self.problems.push(Problem { hint, ..origin.error(field.clone(), reason.into(), message) });
        }
    }

    fn mirror(&mut self, origin: &Origin, mirror: &RequestMirror) -> Result<Mirror, Refusal> {
        let RequestMirror { backend_ref, percent, fraction } = mirror;
        let reference = Reference {
            group: &backend_ref.group,
            kind: &backend_ref.kind,
            namespace: backend_ref.namespace.as_deref(),
            name: &backend_ref.name,
            port: backend_ref.port.map(Into::into),
            from: origin.referrer(),
        };
        let destination = self.resolve(reference)?;
        let per_million = match (percent, fraction) {
            (None, None) => MILLION,
            (Some(percent), None) => u32::from(*percent) * (MILLION / 100),
            (None, Some(fraction)) if fraction.numerator <= fraction.denominator.get() => {
                let share = u64::from(fraction.numerator) * u64::from(MILLION) / u64::from(fraction.denominator.get());
                u32::try_from(share).unwrap_or(MILLION)
            }
            (None, Some(_)) => return Err(Refusal::invalid("a mirror's fraction is at most one")),
            (Some(_), Some(_)) => return Err(Refusal::invalid("a mirror has a percentage or a fraction, not both")),
        };
        Ok(Mirror { destination, per_million })
    }

    /// The far gateway knows two hosts.
    fn check_hostname(&self, hostname: &str, destination: &Destination) -> Result<(), Refusal> {
        let (namespace, name) = match destination {
            Destination::Service { .. } => return Ok(()),
            Destination::Tier { .. } => (self.referrer.namespace, self.referrer.name),
            Destination::Import { namespace, name, .. } => (&**namespace, &**name),
        };
        let known = [mcwan_policy::canonical_host(namespace, name), mcwan_policy::clusterset_host(namespace, name)];
        if known.iter().any(|known| known == hostname) {
            return Ok(());
        }
        Err(Refusal::invalid(format!("over a tier the hostname can only be {} or {}", known[0], known[1])))
    }

    /// One generic route can do nothing for one target only.
    pub(super) fn check_steering(&self, destination: &Destination, forwarding: &Forwarding) -> Result<(), Refusal> {
        let ports_differ =
            matches!(destination, Destination::Service { port: None, .. }) && self.referrer.ports.len() > 1;
        match self.options.steering {
            Steering::RouteHeader => Ok(()),
            Steering::ClusterHeader if forwarding.is_empty() && !ports_differ => Ok(()),
            Steering::ClusterHeader => {
                Err(Refusal::unsupported("this needs a route of its own, which there is not in ClusterHeader mode"))
            }
        }
    }

    /// Reports a refusal, and does it.
    fn refuse(&mut self, origin: &Origin, weight: u32, refusal: Refusal) -> Action {
        Action::Refuse(Refuse::new(weight, self.report(origin, refusal)))
    }

    /// Reports a refusal, and gives what requests would be told.
    pub(super) fn report(&mut self, origin: &Origin, refusal: Refusal) -> RefuseReason {
        let Refusal { field, reason, because, message, hint, not_permitted } = refusal;
        let told = because.unwrap_or_else(|| reason.into());
        self.problems.push(Problem { hint, not_permitted, ..origin.error(field, told, message) });
        reason
    }
}

impl Targets {
    /// What the steering header carries for the target at a place.
    pub(super) fn steering_value(&self, place: u32) -> Option<String> {
        self.list.get(usize::try_from(place).ok()?).map(Target::steering_value)
    }
}

/// What a backendRef says.
pub(super) fn reference_of<'r>(origin: &'r Origin, backend: &'r BackendRef) -> Reference<'r> {
    let BackendRef { group, kind, name, namespace, port, weight: _, filters: _ } = backend;
    let port = port.map(Into::into);
    Reference { group, kind, namespace: namespace.as_deref(), name, port, from: origin.referrer() }
}

/// Copies have the host that the request has, by which the far gateway knows one service.
fn check_mirrors(destination: &Destination, mirrors: &[Mirror]) -> Result<(), Refusal> {
    let to_other = mirrors.iter().any(|mirror| matches!(mirror.destination, Destination::Import { .. }));
    let over_tier = mirrors.iter().any(|mirror| matches!(mirror.destination, Destination::Tier { .. }));
    if to_other || over_tier && matches!(destination, Destination::Import { .. }) {
        return Err(Refusal::unsupported(
            "copies over a tier go to the service that the request goes to, and to no other",
        ));
    }
    Ok(())
}

/// Lets a rule answer so where what it asks for cannot be had.
fn answer_with(status: RefuseStatus, actions: &mut Vec<Action>) {
    if status == RefuseStatus::default() {
        return;
    }
    for action in actions.iter_mut() {
        if let Action::Refuse(refuse) = action {
            refuse.status = status;
        }
    }
    if actions.iter().all(|action| action.weight() == 0) {
        *actions = vec![Action::Refuse(Refuse { weight: 1, reason: RefuseReason::NoBackend, status })];
    }
}
