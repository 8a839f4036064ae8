//! What a unit consists of.

use mcwan_core::emit::kubernetes::{
    LiveRules, Settings, Shipped, cluster_object, common_objects, egress_objects, export_objects, import_objects,
    ingress_objects, missing_grants,
};
use mcwan_core::emit::object::Object;
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::translate::{Outgoing, Translator};

use super::unit::{Part, Unit};

/// What a unit consists of.
#[derive(Debug, Default)]
pub(super) struct Emission {
    /// The objects that are to be.
    pub(super) objects: Vec<Object>,
    /// What cannot be honoured.
    pub(super) problems: Vec<Problem>,
    /// The configuration of the filter in it.
    pub(super) shipped: Option<Shipped>,
}

impl Emission {
    /// Works out a unit. `live` are the rules of its live routes, where these are to be otherwise.
    pub(super) fn of(
        unit: &Unit,
        translator: &Translator,
        snapshot: &Snapshot,
        settings: &Settings,
        live: &LiveRules,
    ) -> Self {
        let namespace = &unit.namespace;
        match &unit.part {
            Part::Common => common_objects().into(),
            Part::Cluster => {
                cluster_object(&translator.cluster(snapshot), settings).into_iter().collect::<Vec<_>>().into()
            }
            Part::Import(name) => {
                let Some(import) = translator.imports().get(namespace, name) else { return Self::default() };
                let (objects, mut problems) = import_objects(import, settings, live);
                problems.extend(missing_grants(import, &snapshot.reference_grants));
                Self { objects, problems, shipped: None }
            }
            Part::Egress => {
                let egress = egress_objects(namespace, &translator.imports_of(namespace), settings);
                Self { objects: egress.objects, problems: egress.problems, shipped: egress.shipped }
            }
            Part::Ingress => {
                if !translator.outgoing().in_namespace(namespace).any(Outgoing::is_exported) {
                    return Self::default();
                }
                let admitted = translator.admitted(snapshot, namespace);
                let tiers = translator.exports().tier_ports();
                let (objects, problems) = ingress_objects(namespace, tiers, &admitted, settings);
                Self { objects, problems, shipped: None }
            }
            Part::Export(name) => {
                let outgoing = translator.outgoing().get(namespace, name);
                let exported = outgoing.filter(|outgoing| outgoing.is_exported());
                exported.map(|outgoing| export_objects(outgoing, settings)).unwrap_or_default().into()
            }
        }
    }
}

impl From<Vec<Object>> for Emission {
    fn from(objects: Vec<Object>) -> Self {
        Self { objects, ..Self::default() }
    }
}
