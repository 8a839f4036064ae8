//! One import: what it claims, what its rules do, and where its targets are.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use mcwan_policy::At;
use mcwan_policy::wire;

use crate::api::{DataPlane, HttpRule};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Snapshot};

use super::backend::Referrer;
use super::export::{Exports, Tier};
use super::families::Families;
use super::rule::Rules;
use super::service_import::FrontEnd;
use super::{Options, Target};

/// An imported service as this cluster sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The resource that its rules come from.
    pub object: ObjectRef,
    /// What the filter is told of it.
    pub wire: wire::Import,
    /// The names of its rules, by index.
    pub rule_names: Vec<Option<String>>,
    /// The ports that clients use, ascending.
    pub ports: Vec<u16>,
    /// The routes behind the filter, by the index that actions name them by.
    pub targets: Vec<Target>,
    /// The tiers that it can be had over.
    pub tiers: Vec<Tier>,
    /// The addresses that its egress gateways can send requests to.
    pub families: Families,
    /// Who applies its rules; none: as the gateway is made.
    pub data_plane: Option<DataPlane>,
    /// Of two imports that claim a host, the one with the lesser age has it. None: nobody wrote rules.
    pub age: Option<Age>,
    /// The resource that its rules come from, as the owner of what is made of it; none: it is not in a cluster.
    pub owner: Option<OwnerReference>,
    /// What is wrong with its own resource.
    pub problems: Vec<Problem>,
    /// What is wrong with the exports that it is made of.
    pub export_problems: Vec<Problem>,
    /// The Services of this cluster that its rules name, there or not.
    pub services: BTreeSet<Key>,
}

impl Import {
    pub(super) fn new(front_end: FrontEnd<'_>, snapshot: &Snapshot, exports: &Exports, options: &Options) -> Self {
        let FrontEnd { object, namespace, name, hostnames, rules, no_match, data_plane, age, owner, mut problems } =
            front_end;
        let ports = ports(rules.unwrap_or_default(), snapshot, exports, namespace, name);
        if ports.is_empty() {
            let message = "no cluster exports it and its rules name no Service, so there is no port to serve it on";
            problems.push(Problem::error(object.clone(), Reason::NoPort, message));
        }
        let mut translated = Rules {
            object: object.clone(),
            referrer: Referrer { namespace, name, ports: &ports },
            snapshot,
            exports,
            options,
            targets: Vec::new(),
            services: BTreeSet::new(),
            problems: &mut problems,
        };
        let wire_rules = match rules {
            Some(rules) => rules.iter().enumerate().map(|(index, rule)| translated.translate(index, rule)).collect(),
            None => vec![translated.default_tier()],
        };
        let Rules { targets, services, .. } = translated;
        let wire = wire::Import {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            hostnames: hostnames.to_vec(),
            no_match,
            targets: targets.iter().map(Target::wire).collect(),
            rules: wire_rules,
        };
        report_errors(&wire, &object, &mut problems);
        Self {
            object,
            wire,
            rule_names: rules.unwrap_or_default().iter().map(|rule| rule.name.clone()).collect(),
            ports,
            targets,
            tiers: exports.tiers().filter_map(|tier| exports.tier(namespace, name, tier)).collect(),
            families: Families::of_egress(snapshot, namespace),
            data_plane,
            age,
            owner,
            problems,
            export_problems: exports.problems_of(namespace, name).cloned().collect(),
            services,
        }
    }

    /// Its namespace and name.
    pub fn key(&self) -> Key {
        Key::new(self.wire.namespace.as_str(), self.wire.name.as_str())
    }

    /// What the steering header carries for each of its targets.
    pub fn steering_values(&self) -> BTreeSet<String> {
        self.targets.iter().map(Target::steering_value).collect()
    }

    /// Whether it is older than another of the same gateway: of those without rules, by name.
    pub(super) fn precedence(&self) -> impl Ord + use<'_> {
        (self.age.is_none(), &self.age, &self.wire.namespace, &self.wire.name)
    }

    /// What upstreams see as `:authority`, unless a rule says otherwise.
    pub fn canonical_host(&self) -> String {
        mcwan_policy::canonical_host(&self.wire.namespace, &self.wire.name)
    }

    /// A tier of this import by its name.
    pub fn tier(&self, name: &str) -> Option<&Tier> {
        self.tiers.iter().find(|tier| tier.name == name)
    }
}

/// The ports of the service in any cluster; without an export those that the rules name of local Services, and all
/// of Services of which they name none.
fn ports(rules: &[HttpRule], snapshot: &Snapshot, exports: &Exports, namespace: &str, name: &str) -> Vec<u16> {
    let exported = exports.sources(namespace, name).flat_map(|source| &source.ports).copied();
    let exported: BTreeSet<u16> = exported.collect();
    if !exported.is_empty() {
        return exported.into_iter().collect();
    }
    let mut named = BTreeSet::new();
    for backend in rules.iter().flat_map(|rule| &rule.backend_refs) {
        let service = snapshot.services.get(backend.namespace.as_deref().unwrap_or(namespace), &backend.name);
        let all = service.and_then(|service| service.spec.as_ref()?.ports.as_ref()).into_iter().flatten();
        match backend.port {
            Some(port) => drop(named.insert(port.get())),
            None => named.extend(all.filter_map(|port| u16::try_from(port.port).ok())),
        }
    }
    named.into_iter().collect()
}

/// Reports what the filter would find wrong with an import: it is what the filter compiles.
fn report_errors(import: &wire::Import, object: &ObjectRef, problems: &mut Vec<Problem>) {
    for error in mcwan_policy::check(import) {
        let field = match error.at {
            At::Import => "spec.http".to_owned(),
            At::Hostname(hostname) => FrontEnd::hostname_field(hostname),
            At::Match(rule, index) => format!("{}.matches[{index}]", FrontEnd::rule_field(rule)),
            At::Rule(rule) | At::Actions(rule) | At::Action(rule, _) => FrontEnd::rule_field(rule),
        };
        let problem = Problem::error(object.clone(), error.part.reason().into(), error.part.to_string()).at(field);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}
