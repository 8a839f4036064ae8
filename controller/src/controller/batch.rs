//! What is written in one round, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcwan_core::emit::kubernetes::FilterKind;
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::observed::{Live, Observed};

use super::unit::Unit;

/// The objects of some units.
#[derive(Debug, Default)]
pub(super) struct Batch {
    objects: Vec<(Stage, Object)>,
    /// Namespaces where routes have targets that the filter may steer to only when gateways know them.
    leads: BTreeSet<Arc<str>>,
    /// Units whose objects of a kind are not written yet: an import's routes, as istiod must know first what they lead to,
    /// and what the registry is told of an export, as its gateways must know the routes first.
    late: BTreeMap<Unit, Kind>,
    /// Namespaces whose filter is not written, as one of the other kind is still there.
    rivalled: BTreeSet<Arc<str>>,
    /// Namespaces whose filter is not written, as its module may not be what it should be.
    withheld: BTreeSet<Arc<str>>,
}

/// When an object is written. A new namespace gets its filter first, so that no gateway ever runs without; where there
/// is one already, routes get their new targets before the filter steers to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// What routes and gateways refer to, and a new filter.
    First,
    Gateways,
    Routes,
    /// The filter's new configuration, where there is an older one.
    Filters,
    Cluster,
    Exports,
}

/// Objects that can be written all at once.
#[derive(Debug, Default)]
pub(super) struct Phase {
    pub(super) objects: Vec<Object>,
    /// Namespaces whose filter has to wait.
    pub(super) leads: BTreeSet<Arc<str>>,
}

impl Batch {
    /// Adds the objects of a unit.
    pub(super) fn add(&mut self, unit: &Unit, objects: Vec<Object>, observed: &Observed) {
        let late = self.late_kind(unit);
        for object in objects {
            if late == Some(object.id.kind) {
                continue;
            }
            let rival = FilterKind::rival(&object.id);
            if rival.is_some() && self.withheld.contains(&object.id.key.namespace) {
                continue;
            }
            if rival.is_some_and(|rival| observed.get(&rival).is_some_and(Live::is_ours)) {
                self.rivalled.insert(Arc::clone(&object.id.key.namespace));
            } else {
                self.objects.push((stage(&object, observed), object));
            }
        }
    }

    /// Namespaces whose filter is not written, as one of the other kind is still there.
    pub(super) fn rivalled(&self) -> impl Iterator<Item = &Arc<str>> {
        self.rivalled.iter()
    }

    /// Leaves the filter of a namespace as it is.
    pub(super) fn withhold(&mut self, namespace: &Arc<str>) {
        self.withheld.insert(Arc::clone(namespace));
    }

    /// Lets the filter of a namespace wait.
    pub(super) fn lead(&mut self, namespace: &Arc<str>) {
        self.leads.insert(Arc::clone(namespace));
    }

    /// Lets the routes of a unit wait, and the filter that steers to them.
    pub(super) fn delay_routes(&mut self, unit: &Unit) {
        self.late.insert(unit.clone(), Kind::HttpRoute);
        self.lead(&unit.namespace);
    }

    /// Lets what the registry is told of an export wait.
    pub(super) fn delay_export(&mut self, unit: &Unit) {
        self.late.insert(unit.clone(), Kind::ExportedService);
    }

    /// The kind of a unit's objects that wait, if any does.
    pub(super) fn late_kind(&self, unit: &Unit) -> Option<Kind> {
        self.late.get(unit).copied()
    }

    /// The units of which something waits.
    pub(super) fn late(&self) -> Vec<Unit> {
        self.late.keys().cloned().collect()
    }

    /// Whether the filter of a namespace waits.
    pub(super) fn has_lead(&self, namespace: &str) -> bool {
        self.leads.contains(namespace)
    }

    /// What to write, in order.
    pub(super) fn phases(mut self) -> Vec<Phase> {
        self.objects.sort_by_key(|(stage, _)| *stage);
        let mut phases: Vec<(Stage, Phase)> = Vec::new();
        for (stage, object) in self.objects {
            if stage == Stage::Filters && self.leads.contains(&object.id.key.namespace) {
                continue;
            }
            match phases.last_mut() {
                Some((last, phase)) if *last == stage => phase.objects.push(object),
                _ => phases.push((stage, Phase { objects: vec![object], leads: BTreeSet::new() })),
            }
        }
        if let Some((_, phase)) = phases.iter_mut().find(|(stage, _)| *stage == Stage::Routes) {
            phase.leads = self.leads;
        }
        phases.into_iter().map(|(_, phase)| phase).collect()
    }
}

fn stage(object: &Object, observed: &Observed) -> Stage {
    match object.id.kind {
        Kind::WasmPlugin | Kind::TrafficExtension if observed.get(&object.id).is_some() => Stage::Filters,
        Kind::ReferenceGrant
        | Kind::DestinationRule
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::ConfigMap
        | Kind::AuthorizationPolicy
        | Kind::Telemetry
        | Kind::WasmPlugin
        | Kind::TrafficExtension => Stage::First,
        Kind::Gateway => Stage::Gateways,
        Kind::HttpRoute => Stage::Routes,
        Kind::WanCluster => Stage::Cluster,
        Kind::ExportedService => Stage::Exports,
    }
}
