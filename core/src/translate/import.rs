//! One import: what it claims, what its rules do, and where its targets are.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use mcwan_policy::wire;
use mcwan_policy::{At, ImportError};

use crate::api::DataPlane;
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Age, Key, Snapshot};

use super::backend::Referrer;
use super::export::{Exports, Tier};
use super::families::Families;
use super::rule::Rules;
use super::service_import::{FrontEnd, WrittenRule};
use super::{ImportFields, Options, Origin, RuleSource, Target};

/// An imported service as this cluster sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The resource that says what the import is.
    pub object: ObjectRef,
    /// Where it says so.
    pub fields: &'static ImportFields,
    /// What the filter is told of it.
    pub wire: wire::Import,
    /// Its rules as they were written, by index; none where nobody wrote rules.
    pub rules: Vec<RuleSource>,
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
        let FrontEnd {
            object,
            fields,
            namespace,
            name,
            hostnames,
            rules,
            no_match,
            data_plane,
            age,
            owner,
            mut problems,
        } = front_end;
        let ports = ports(rules.as_deref().unwrap_or_default(), snapshot, exports, namespace, name);
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
        let wire_rules = match &rules {
            Some(rules) => rules.iter().map(|rule| translated.translate(rule)).collect(),
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
        let source = |WrittenRule { origin, rule }| RuleSource { name: rule.name.clone(), origin };
        let mut import = Self {
            object,
            fields,
            wire,
            rules: rules.unwrap_or_default().into_iter().map(source).collect(),
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
        };
        import.report_errors();
        import
    }

    /// Reports what the filter would find wrong with it: it is what the filter compiles.
    fn report_errors(&mut self) {
        for ImportError { at, part } in mcwan_policy::check(&self.wire) {
            let (reason, message) = (part.reason().into(), part.to_string());
            let own = |field: &FieldPath| Problem::error(self.object.clone(), reason, &message).at(field.clone());
            let problem = match at {
                At::Import => own(&self.fields.rules),
                At::Hostname(hostname) => own(&self.fields.hostnames.clone().index(hostname)),
                At::Match(rule, index) => {
                    self.rule_error_at(rule, FieldPath::root().field("matches").index(index), reason, &message)
                }
                At::Rule(rule) | At::Actions(rule) | At::Action(rule, _) => self.rule_error(rule, reason, &message),
            };
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// Where one of its rules was written; none where nobody wrote it.
    pub fn origin(&self, rule: usize) -> Option<&Origin> {
        self.rules.get(rule).map(|rule| &rule.origin)
    }

    /// The name of one of its rules, where it has one.
    pub fn rule_name(&self, rule: usize) -> Option<&str> {
        self.rules.get(rule)?.name.as_deref()
    }

    /// An error of one of its rules.
    pub fn rule_error(&self, rule: usize, reason: Reason, message: impl Into<String>) -> Problem {
        self.rule_error_at(rule, FieldPath::root(), reason, message)
    }

    /// An error of a field of one of its rules.
    pub fn rule_error_at(&self, rule: usize, field: FieldPath, reason: Reason, message: impl Into<String>) -> Problem {
        match self.origin(rule) {
            Some(origin) => origin.error_at(field, reason, message),
            None => Problem::error(self.object.clone(), reason, message),
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
fn ports(rules: &[WrittenRule<'_>], snapshot: &Snapshot, exports: &Exports, namespace: &str, name: &str) -> Vec<u16> {
    let exported = exports.sources(namespace, name).flat_map(|source| &source.ports).copied();
    let exported: BTreeSet<u16> = exported.collect();
    if !exported.is_empty() {
        return exported.into_iter().collect();
    }
    let mut named = BTreeSet::new();
    for backend in rules.iter().flat_map(|written| &written.rule.backend_refs) {
        let service = snapshot.services.get(backend.namespace.as_deref().unwrap_or(namespace), &backend.name);
        let all = service.and_then(|service| service.spec.as_ref()?.ports.as_ref()).into_iter().flatten();
        match backend.port {
            Some(port) => drop(named.insert(port.get())),
            None => named.extend(all.filter_map(|port| u16::try_from(port.port).ok())),
        }
    }
    named.into_iter().collect()
}
