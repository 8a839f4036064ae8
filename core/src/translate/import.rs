//! One import: what it claims, what its rules do, and where its targets are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use mcwan_policy::wire::{self, RefuseReason, Serves, WanPath};
use mcwan_policy::{At, ImportError, limits};

use crate::api::{DataPlane, ImportFields};
use crate::problem::{FieldPath, MOST_TOLD, ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Snapshot, is_from_elsewhere, is_of_hosts};

use super::backend::{self, Referrer};
use super::choice;
use super::clusterset::{self, Clusterset, DirectPort};
use super::export::{Exports, Tier};
use super::families::Families;
use super::front_end::{Admission, Attachment, FrontEnd};
use super::rule::{Rules, Targets};
use super::{Destination, Options, Origin, Target, ports, tier_service};

/// Rules of routes behind the filter that an import may have, of some kilobytes each while they are written.
const ROUTES: usize = 8_192;

/// An imported service as this cluster sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// What it is known by: the namespace of the gateways that serve it, and its name there.
    pub key: Key,
    /// The resource that says what it is.
    pub object: ObjectRef,
    /// Where it says so.
    pub fields: &'static ImportFields,
    /// What the filter is told of it.
    pub wire: wire::Import,
    /// Where its rules were written, by index; none where nobody wrote rules.
    pub rules: Vec<Origin>,
    /// The ports that clients use, ascending.
    pub ports: Vec<u16>,
    /// Those of them that no listener is left for: older imports of the namespace have as many as a Gateway has.
    pub unserved: BTreeSet<u16>,
    /// The routes behind the filter, by the index that actions name them by.
    pub targets: Vec<Target>,
    /// What is measured for its rules, by the index that actions name it by.
    pub paths: Vec<WanPath>,
    /// The tiers that it can be had over, and those of other imports that its rules lead to.
    pub tiers: Vec<Tier>,
    /// What it is in every cluster; none: nobody exports it.
    pub clusterset: Option<Clusterset>,
    /// What becomes of the routes that have it as their parent.
    pub attachments: Vec<Attachment>,
    /// What becomes of the `Route`s of `OpenShift` that it is made of.
    pub admissions: BTreeMap<Key, Admission>,
    /// Hosts, and the Secrets of the namespace with the certificates that clients are shown there, the oldest claim first: on
    /// a gateway without room for all, the younger go without.
    pub certificates: Vec<(String, String)>,
    /// The ports whose connections go straight to pods; none where somebody wrote rules for all ports.
    pub direct: Vec<DirectPort>,
    /// The addresses that clients call it by, as soon as it has any. They are hosts of it.
    pub addresses: Vec<IpAddr>,
    /// The addresses that its egress gateways can send requests to.
    pub families: Families,
    /// Who applies its rules; none: as the gateway is made.
    pub data_plane: Option<DataPlane>,
    /// Of two imports that claim a host, the one with the lesser age has it. None: nobody wrote rules.
    pub age: Option<Age>,
    /// What is wrong with its own resource.
    pub problems: Vec<Problem>,
    /// What is wrong with the exports that it is made of.
    pub export_problems: Vec<Problem>,
    /// The Services of this cluster that its rules name, there or not, and that routes have as parents; and the other
    /// imports that they name.
    pub services: BTreeSet<Key>,
}

impl Import {
    pub(super) fn new(front_end: FrontEnd<'_>, snapshot: &Snapshot, exports: &Exports, options: &Options) -> Self {
        let FrontEnd {
            key,
            object,
            fields,
            namespace,
            name,
            serves,
            hostnames,
            ports,
            certificates,
            rules,
            default_ports,
            is_direct,
            attachments,
            admissions,
            services,
            no_match,
            data_plane,
            age,
            mut problems,
        } = front_end;
        let mut export_problems: Vec<_> = exports.problems_of(namespace, name).cloned().collect();
        let is_service = serves != Serves::Hosts;
        let mut ports = ports.unwrap_or_else(|| ports::exported(exports, namespace, name, &mut export_problems));
        if ports.is_empty() && is_service {
            ports =
                ports::local(rules.as_deref().unwrap_or_default(), snapshot, &key.namespace, &object, &mut problems);
        }
        let clusterset = Clusterset::of(exports, namespace, name);
        let direct = clusterset.as_ref().filter(|_| is_direct);
        let direct = direct.map(|clusterset| clusterset.direct_ports(exports, namespace, name)).unwrap_or_default();
        if ports.is_empty() && direct.is_empty() && is_service {
            let message = "no cluster exports it with an HTTP port, and its rules name no Service, so there is no port to \
                           serve it on";
            problems.push(Problem::error(object.clone(), Reason::NoPort, message));
        }
        let families = Families::of_egress(snapshot, &key.namespace);
        let mut translated = Rules {
            object: object.clone(),
            referrer: Referrer { key, namespace, name, ports: &ports },
            snapshot,
            exports,
            options,
            families,
            stays_close: clusterset.as_ref().is_some_and(Clusterset::stays_close),
            targets: Targets::default(),
            paths: Vec::new(),
            services,
            problems: &mut problems,
        };
        let mut wire_rules: Vec<_> = rules.iter().flatten().map(|rule| translated.translate(rule)).collect();
        if rules.is_none() && !ports.is_empty() || !default_ports.is_empty() {
            wire_rules.push(wire::Rule { ports: default_ports, ..translated.default_tier() });
        }
        let Rules { targets: Targets { list: mut targets, .. }, paths, services, .. } = translated;
        targets.shrink_to_fit(); // each is large, and most imports have few
        let own_tiers = own_tiers(key, (namespace, name), snapshot, exports);
        let tiers = own_tiers.into_iter().chain(other_tiers(key, &targets, exports)).collect();
        let addresses = clusterset::addresses(snapshot, &key.namespace, &key.name);
        let hostnames = [hostnames, &clusterset::client_hosts(key)].concat();
        // The hosts that users name come first, and too many of them are told as they are.
        let most_hosts = limits::IMPORT_HOSTNAMES.max(hostnames.len());
        let called = if is_service { &*addresses } else { &[] };
        for address in called.iter().skip(most_hosts - hostnames.len()) {
            let message = format!("{address} is no host of it, as it has {most_hosts} others: call it by its name");
            problems.push(Problem::warning(object.clone(), Reason::NoAddress, message));
        }
        let wire = wire::Import {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            serves,
            hostnames: hostnames.into_iter().chain(address_hosts(called)).take(most_hosts).collect(),
            no_match,
            targets: targets.iter().map(Target::wire).collect(),
            rules: wire_rules,
        };
        let import = Self {
            key: key.clone(),
            object,
            fields,
            wire,
            rules: rules.into_iter().flatten().map(|rule| rule.origin).collect(),
            ports,
            unserved: BTreeSet::new(),
            targets,
            paths,
            tiers,
            clusterset,
            direct,
            addresses,
            families,
            attachments,
            admissions,
            certificates,
            data_plane,
            age,
            problems,
            export_problems,
            services,
        };
        import.checked()
    }

    /// Refuses it where it has too many hosts, or its rules lead to too many places: each is a rule of a route, on each port.
    fn bound(&mut self) {
        let (targets, ports, hosts) = (self.targets.len(), self.ports.len(), self.wire.hostnames.len());
        let message = if hosts > limits::IMPORT_HOSTNAMES && !is_from_elsewhere(&self.key) {
            format!("it has {hosts} hostnames, over the bound of {}", limits::IMPORT_HOSTNAMES)
        } else if targets.saturating_mul(ports) > ROUTES {
            format!("its rules lead to {targets} targets on each of {ports} ports: {ROUTES} may be had together")
        } else {
            return;
        };
        self.problems.push(Problem::error(self.object.clone(), Reason::TooLarge, message));
        self.wire = self.wire.too_large();
        self.targets.clear();
        self.paths.clear();
    }

    /// Reports what the filter would find wrong with it, as it is what the filter compiles, and bounds its routes.
    fn checked(mut self) -> Self {
        for ImportError { at, part } in mcwan_policy::check(&self.wire).into_iter().take(MOST_TOLD) {
            let (reason, message) = (part.reason().into(), part.to_string());
            let own = |field: FieldPath| Problem::error(self.object.clone(), reason, &*message).at(field);
            let problem = match at {
                At::Import => own(self.fields.http.into()),
                At::Hostname(hostname) => own(FieldPath::from(self.fields.hostnames).index(hostname)),
                At::Match(rule, index) => {
                    self.rule_error(rule, FieldPath::from("matches").index(index), reason, message)
                }
                At::Rule(rule) | At::Actions(rule) | At::Action(rule, _) => {
                    self.rule_error(rule, FieldPath::root(), reason, message)
                }
            };
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        self.bound();
        self
    }

    /// The name of one of its rules, where it has one. Rules of several objects may have the same.
    pub fn rule_name(&self, rule: usize) -> Option<&str> {
        self.rules.get(rule)?.name.as_deref()
    }

    /// Whether all of its rules were written in one object.
    pub fn has_one_source(&self) -> bool {
        self.rules.windows(2).all(|pair| matches!(pair, [one, next] if one.object == next.object))
    }

    /// An error of a field of one of its rules; of the import where nobody wrote the rule.
    pub fn rule_error(
        &self,
        rule: usize,
        field: impl Into<FieldPath>,
        reason: Reason,
        message: impl Into<String>,
    ) -> Problem {
        match self.rules.get(rule) {
            Some(origin) => origin.error(field, reason, message),
            None => Problem::error(self.object.clone(), reason, message),
        }
    }

    /// The objects whose rules give it a host, on a port where one is named; itself where there is none.
    pub fn objects_of_host(&self, host: &str, port: Option<u16>) -> BTreeSet<ObjectRef> {
        let holds =
            |rule: &wire::Rule| rule.host.as_deref() == Some(host) && port.is_none_or(|port| rule.holds_on(port));
        let rules = self.wire.rules.iter().zip(&self.rules).filter(|(rule, _)| holds(rule));
        let objects: BTreeSet<_> = rules.map(|(_, origin)| (*origin.object).clone()).collect();
        if objects.is_empty() { [self.object.clone()].into() } else { objects }
    }

    /// The same import as a filter is told of it that somebody told before. Nothing else of it is known.
    #[must_use]
    pub fn told(&self, wire: wire::Import, paths: Vec<WanPath>) -> Self {
        let nothing =
            Self { rules: Vec::new(), ports: Vec::new(), targets: Vec::new(), tiers: Vec::new(), ..self.clone() };
        Self {
            wire,
            paths,
            direct: Vec::new(),
            problems: Vec::new(),
            export_problems: Vec::new(),
            services: BTreeSet::new(),
            ..nothing
        }
    }

    /// An import that is gone, as a filter is told of it that somebody told before.
    pub fn gone(key: &Key, wire: wire::Import, paths: Vec<WanPath>) -> Self {
        let FrontEnd { object, fields, .. } = FrontEnd::without_rules(key, &wire.namespace, &wire.name);
        Self {
            key: key.clone(),
            object,
            fields,
            wire,
            rules: Vec::new(),
            ports: Vec::new(),
            unserved: BTreeSet::new(),
            targets: Vec::new(),
            paths,
            tiers: Vec::new(),
            clusterset: None,
            direct: Vec::new(),
            attachments: Vec::new(),
            admissions: BTreeMap::new(),
            certificates: Vec::new(),
            addresses: Vec::new(),
            families: Families::Both,
            data_plane: Some(DataPlane::Wasm), // no other has a filter that tells of it
            age: None,
            problems: Vec::new(),
            export_problems: Vec::new(),
            services: BTreeSet::new(),
        }
    }

    /// The same import, in which what takes one of these steering values is refused.
    #[must_use]
    pub fn without(&self, missing: &BTreeSet<String>, reason: RefuseReason) -> Self {
        let mut import = self.clone();
        let is_missing = |target: u32| {
            let target = usize::try_from(target).ok().and_then(|index| self.wire.targets.get(index));
            target.is_some_and(|target| missing.contains(&target.steering_value()))
        };
        for action in import.wire.rules.iter_mut().flat_map(|rule| &mut rule.actions) {
            choice::withdraw(action, is_missing, reason);
        }
        import
    }

    /// What the steering header carries for each of its targets.
    pub fn steering_values(&self) -> BTreeSet<String> {
        self.targets.iter().map(Target::steering_value).collect()
    }

    /// Whether it is older than another of the same gateway: of those without rules, by name. Those of the gateway's own
    /// namespace come first, so that nobody takes their hosts, and hosts that users choose last.
    pub(crate) fn precedence(&self) -> impl Ord + use<'_> {
        (
            is_of_hosts(&self.key),
            is_from_elsewhere(&self.key),
            self.age.is_none(),
            &self.age,
            &self.wire.namespace,
            &self.wire.name,
        )
    }

    /// Whether it is a service, and has hosts by its name.
    pub fn is_service(&self) -> bool {
        self.wire.serves != Serves::Hosts
    }

    /// What upstreams see as `:authority` of a service, unless a rule says otherwise.
    pub fn canonical_host(&self) -> String {
        mcwan_policy::canonical_host(&self.wire.namespace, &self.wire.name)
    }

    /// Its addresses as hosts of requests.
    pub fn address_hosts(&self) -> impl Iterator<Item = String> {
        address_hosts(&self.addresses)
    }

    /// The tiers that it can be had over itself.
    pub fn own_tiers(&self) -> impl Iterator<Item = &Tier> {
        self.tiers.iter().filter(|tier| self.is_own(tier))
    }

    /// Whether a tier is one that it can be had over itself.
    pub fn is_own(&self, tier: &Tier) -> bool {
        (&*tier.import.namespace, &*tier.import.name) == (&*self.wire.namespace, &*self.wire.name)
    }

    /// The Envoy cluster that leads to a cluster over a tier, and that is measured for it.
    pub fn envoy_cluster(&self, tier: &str, cluster: &str) -> &str {
        let mut paths = self.paths.iter();
        let path = paths.find(|path| (&*path.tier, &*path.cluster) == (tier, cluster));
        path.map(|path| &*path.envoy_cluster).unwrap_or_default()
    }

    /// The tier that a destination of its rules is reached over; none of a Service, and of a tier that there is no more.
    pub fn tier(&self, destination: &Destination) -> Option<&Tier> {
        match destination {
            Destination::Tier { name, .. } => self.own_tiers().find(|tier| tier.name == *name),
            Destination::Import { namespace, name, tier, port: _ } => self.tiers.iter().find(|known| {
                (&*known.import.namespace, &*known.import.name, &*known.name) == (&**namespace, &**name, &**tier)
            }),
            Destination::Service { .. } => None,
        }
    }
}

/// The tiers that an import of a service can be had over.
fn own_tiers(import: &Key, (namespace, name): (&str, &str), snapshot: &Snapshot, exports: &Exports) -> Vec<Tier> {
    let tiers = exports.tiers().filter_map(|tier| exports.tier(namespace, name, tier));
    let tiers = tiers.filter_map(|tier| backend::without_own_share(tier, &import.namespace, snapshot));
    tiers.map(|tier| if is_from_elsewhere(import) { apart(import, tier) } else { tier }).collect()
}

/// A tier with a tier service of its own, whoever else leads there.
fn apart(view: &Key, tier: Tier) -> Tier {
    Tier { service: tier_service::other(view, &tier.import, &tier.name), ..tier }
}

/// The tiers of other imports that targets lead to, with tier services of this import's own, so that nothing that happens
/// to the others takes them away.
fn other_tiers(import: &Key, targets: &[Target], exports: &Exports) -> Vec<Tier> {
    let mut known = BTreeSet::new();
    let others = targets.iter().filter_map(|target| match &target.destination {
        Destination::Import { namespace, name, tier, port: _ } => Some((namespace, name, tier)),
        Destination::Tier { .. } | Destination::Service { .. } => None,
    });
    let others = others.filter(|other| known.insert(*other));
    others.filter_map(|(namespace, name, tier)| Some(apart(import, exports.tier(namespace, name, tier)?))).collect()
}

fn address_hosts(addresses: &[IpAddr]) -> impl Iterator<Item = String> {
    addresses.iter().map(clusterset::host)
}
