//! What is said of the user's objects, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::event::{Command, ModuleVerdict};
use super::import::ImportState;
use super::key::{Part, ReconcileKey};
use super::queue::WorkQueue;
use super::stage::Stage;
use super::statuses::{StatusKey, remember};
use super::{Leadership, Rollout, Work};
use crate::api::{McsVersion, Route};
use crate::emit::object::ObjectId;
use crate::liveness::RegistryState;
use crate::moment::Moment;
use crate::outcome::{NOT_LEADING_WAIT, REFUSED_WAIT, WriteError};
use crate::snapshot::change::Change;
use crate::snapshot::{Key, RouteRef, is_of_hosts, of_hosts, view, viewed};
use crate::status::{StatusKind, StatusPatch};
use crate::translate::Affected;

/// How long what an import waits for may take before it is told: most of it takes a moment, and a condition that changes
/// there and back tells nobody anything.
const SETTLING: Duration = Duration::from_secs(10);
/// When a status that could not be written is tried again: no request waits for it, and it may be another one by then.
pub(super) const STATUS_WAIT: Duration = Duration::from_secs(5);
/// When what a route or a pod is told is tried again after somebody else has told it something.
const SHARED_WAIT: Duration = Duration::from_secs(1);
/// How many are being written at most: several times what the edge sends at once.
const MOST_STATUSES: usize = 64;

/// What is said of the user's objects.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) mcs_version: McsVersion,
    pub(super) registry: RegistryState,
    /// The time of the clock, for transition times.
    pub(super) clock: Option<Time>,
    /// What all imports and exports share and the API server does not take, as was said of them.
    pub(super) refused: BTreeSet<ObjectId>,
    /// Those whose status is looked at, in turn.
    pub(super) queue: WorkQueue<StatusKey>,
    /// Those that are being written.
    pub(super) under_way: BTreeSet<StatusKey>,
}

impl Conditions {
    /// Whether enough is being written: what is more waits here, where it may still become something else, and takes no turn
    /// of what gateways are told.
    pub(super) fn is_busy(&self) -> bool {
        self.under_way.len() >= MOST_STATUSES
    }
}

impl WorkQueue<StatusKey> {
    /// What is said of these objects may have changed.
    fn report(&mut self, subjects: impl IntoIterator<Item = StatusKey>) {
        subjects.into_iter().for_each(|subject| self.add(subject));
    }
}

impl Rollout {
    /// The time of the clock by now, which conditions tell.
    pub fn set_clock(&mut self, clock: Time) {
        self.conditions.clock = Some(clock);
    }

    /// Changes may have changed what is said.
    pub(super) fn report_affected(&mut self, changes: &[Change], affected: &Affected) {
        let touched = changes.iter().filter_map(|change| match change {
            Change::PolicyStatus(key) => Some(StatusKey::Policy(key.clone())),
            Change::ImportStatus(key) => Some(StatusKey::Import(key.clone())),
            Change::Route(route) => Some(StatusKey::Route(route.clone())),
            Change::OpenshiftRoute(key) | Change::OpenshiftRouteStatus(key) => {
                Some(StatusKey::OpenshiftRoute(key.clone()))
            }
            Change::McsImportStatus(key) | Change::Addresses(key) => Some(StatusKey::Clusterset(key.clone())),
            Change::ConnectionStatus(cluster) | Change::Liveness(cluster) => Some(StatusKey::connection(cluster)),
            _ => None,
        });
        let below = affected.exports.iter().flat_map(|export| self.world.snapshot.routes.all_below(export));
        let below = below.map(|route| StatusKey::Route(route.clone()));
        self.conditions
            .queue
            .report(touched.chain(affected.exports.iter().cloned().map(StatusKey::Export)).chain(below));
        if changes.contains(&Change::Everything) {
            // Of a route that is below nothing, no part speaks.
            self.report_routes(None);
            self.report_openshift_routes(None);
        }
        if affected.tiers {
            self.report_policies();
        }
    }

    /// A part was reconciled.
    pub(super) fn report_reconciled(&mut self, key: &ReconcileKey) {
        let named = |name| Key { namespace: std::sync::Arc::clone(&key.namespace), name: std::sync::Arc::clone(name) };
        match &key.part {
            Part::Common | Part::Cluster => {}
            Part::Connections => self.report_connections(),
            Part::Slices(name) => {
                let name = named(name);
                self.conditions.queue.report([StatusKey::Clusterset(name.clone()), StatusKey::Export(name)]);
            }
            Part::Import(name) if is_of_hosts(&named(name)) => self.report_openshift_routes(Some(&key.namespace)),
            Part::Import(name) => {
                let name = named(name);
                let shown = [StatusKey::Clusterset(name.clone()), StatusKey::Export(name.clone())];
                let import = viewed(&name);
                let routes = self.world.snapshot.routes.all_below(&import);
                let routes = routes.map(|route| StatusKey::Route(route.clone()));
                self.conditions.queue.report(shown.into_iter().chain(routes).chain([StatusKey::Import(name)]));
            }
            Part::Export(name) => self.conditions.queue.report([StatusKey::Export(named(name))]),
            Part::Egress => self.report_imports(Some(&key.namespace)),
            Part::Ingress => {
                self.report_exports(Some(&key.namespace));
                self.report_policies();
            }
        }
    }

    /// What is said of the imports of a namespace may have changed; none: of all.
    pub(super) fn report_imports(&mut self, namespace: Option<&str>) {
        let snapshot = &self.world.snapshot;
        let readable = snapshot.service_imports.within(namespace).map(|import| &import.metadata);
        let unreadable = snapshot.unreadable_imports.within(namespace).map(|import| &import.metadata);
        let clustersets = snapshot.mcs_service_imports.within(namespace).map(|import| &import.metadata);
        self.conditions.queue.report(readable.chain(unreadable).map(Key::of).map(StatusKey::Import));
        self.conditions.queue.report(clustersets.map(Key::of).map(StatusKey::Clusterset));
        self.report_routes(namespace);
        self.report_openshift_routes(namespace);
    }

    /// What is said of every import and export may have changed.
    pub(super) fn report_all(&mut self) {
        self.report_imports(None);
        self.report_exports(None);
    }

    fn report_routes(&mut self, namespace: Option<&str>) {
        let routes = self.world.snapshot.routes.within(namespace);
        self.conditions.queue.report(routes.map(RouteRef::of).map(StatusKey::Route));
    }

    fn report_openshift_routes(&mut self, namespace: Option<&str>) {
        let routes = self.world.snapshot.openshift_routes.within(namespace);
        self.conditions.queue.report(routes.map(|route| StatusKey::OpenshiftRoute(Key::of(&route.metadata))));
    }

    fn report_exports(&mut self, namespace: Option<&str>) {
        let exports = self.world.snapshot.service_exports.within(namespace);
        self.conditions.queue.report(exports.map(|export| StatusKey::Export(Key::of(&export.metadata))));
    }

    fn report_policies(&mut self) {
        let policies = self.world.snapshot.wan_policies.iter();
        self.conditions.queue.report(policies.map(|policy| StatusKey::Policy(Key::of(&policy.metadata))));
    }

    /// Writes a status where it differs, unless it will soon be yet another.
    pub(super) fn report(&mut self, subject: &StatusKey, now: Moment, out: &mut Vec<Command>) {
        if let Some(then) = self.settles(subject, now) {
            if then > now {
                self.conditions.queue.add_at(subject.clone(), then);
            }
            return;
        }
        if self.conditions.under_way.contains(subject) {
            return;
        }
        if let Some(patch) = self.patch(subject, now) {
            if patch.body.is_null() {
                out.push(Command::Tell { patch });
                return;
            }
            self.conditions.under_way.insert(subject.clone());
            out.push(Command::WriteStatus { patch });
        }
    }

    /// A status was written, or was not.
    pub(super) fn status_written(
        &mut self,
        patch: StatusPatch,
        result: &Result<(), WriteError>,
        now: Moment,
        out: &mut Vec<Command>,
    ) {
        let subject = match patch.kind {
            StatusKind::ServiceImport => StatusKey::Import(patch.key.clone()),
            StatusKind::WanPolicy => StatusKey::Policy(patch.key.clone()),
            StatusKind::ClusterConnection => StatusKey::Connection(patch.key.clone()),
            StatusKind::ServiceExport(_) => StatusKey::Export(patch.key.clone()),
            StatusKind::McsServiceImport(_) => StatusKey::Clusterset(patch.key.clone()),
            StatusKind::Route(kind) => StatusKey::Route(RouteRef { kind, key: patch.key.clone() }),
            StatusKind::OpenshiftRoute => StatusKey::OpenshiftRoute(patch.key.clone()),
            StatusKind::Pod => StatusKey::Pod(patch.key.clone()),
        };
        self.conditions.under_way.remove(&subject);
        let wait = match result {
            Ok(()) => {
                // There may be more to say meanwhile.
                self.conditions.queue.add(subject);
                remember(&mut self.world.snapshot, &patch);
                out.push(Command::Tell { patch });
                return;
            }
            // Somebody else was faster, or it is another object by now: that may be known already.
            Err(WriteError::Conflict) => SHARED_WAIT,
            Err(WriteError::Passing { after, .. }) => (*after).unwrap_or(STATUS_WAIT),
            // Of one that is known to be gone by then, nothing is said.
            Err(WriteError::NotFound { .. } | WriteError::Lasting { .. }) => REFUSED_WAIT,
            Err(WriteError::NotLeading) => NOT_LEADING_WAIT,
        };
        self.conditions.queue.add_at(subject, now + wait);
    }

    /// Until when a status waits, as what it tells is about to change. None: it may be written. A time
    /// that is past: something else brings it here again.
    fn settles(&self, subject: &StatusKey, now: Moment) -> Option<Moment> {
        let is_due = |key: &ReconcileKey| self.queue.is_due(&Work::Reconcile(key.clone()));
        let is_unseen = |key: &ReconcileKey| match &self.leadership {
            Leadership::TakingOver(unseen) => unseen.contains(key),
            Leadership::Following | Leadership::Leading => false,
        };
        let is_sent = |key: &ReconcileKey| {
            let mut objects = self.objects.desired.objects_of(key).iter();
            objects.any(|id| self.objects.is_on_its_way(id))
        };
        let is_moving = |key: &ReconcileKey| is_due(key) || is_unseen(key) || is_sent(key);
        match subject {
            StatusKey::Policy(_) | StatusKey::Connection(_) | StatusKey::Pod(_) => None,
            StatusKey::Route(route) => {
                let imports = self.world.snapshot.routes.get(route).into_iter().flat_map(Route::imports);
                let seen = |(namespace, name)| view(&route.key.namespace, &Key::new(namespace, name));
                let imports = imports.map(seen).map(StatusKey::Import);
                imports.filter_map(|import| self.settles(&import, now)).max()
            }
            StatusKey::OpenshiftRoute(key) => self.settles(&StatusKey::Import(of_hosts(&key.namespace)), now),
            StatusKey::Export(key) => {
                let keys = [ReconcileKey::export(key), ReconcileKey::ingress(&key.namespace)];
                let is_told = self.announcements.get(&keys[0]).is_none_or(|export| export.routes.is_none())
                    || self.objects_of_keys(&keys).iter().any(|id| self.objects.failure(id).is_some());
                (!is_told || keys.iter().any(is_moving)).then_some(Moment::START)
            }
            StatusKey::Import(key) | StatusKey::Clusterset(key) => {
                let own = ReconcileKey::import(key);
                let egress = ReconcileKey::egress(&key.namespace);
                if [&own, &egress].into_iter().any(is_moving) {
                    return Some(Moment::START);
                }
                if self.model.module == ModuleVerdict::Unchecked {
                    return Some(Moment::START);
                }
                let state = self.imports.get(&key.namespace, &key.name)?;
                if self.has_failed(key) {
                    return None;
                }
                self.settles_at(&key.namespace, state, now).filter(|then| *then > now)
            }
        }
    }

    /// Until when a status waits for an import to come into force.
    fn settles_at(&self, namespace: &str, state: &ImportState, now: Moment) -> Option<Moment> {
        let newest = state.versions.newest()?;
        let egress = self.egresses.get(namespace);
        let gateway = newest.import.as_deref().map(|import| self.model.settings.egress_gateway(import));
        // What was ready without its listeners does not hold before gateways know them.
        if let Some(late) = gateway.and_then(|gateway| egress?.late(gateway)).filter(|late| *late > now) {
            return Some(late);
        }
        match (&newest.stage, newest.first) {
            (Stage::Backing(progress) | Stage::Routed(progress), _) => Some(progress.since + SETTLING),
            (Stage::Ready, _) if state.native.is_some() => {
                (!state.are_native_routes_known(self.timing, now)).then_some(state.native?.since + SETTLING)
            }
            (Stage::Ready, None) => egress.map(|egress| egress.filter.shipped + SETTLING),
            (Stage::Ready, Some(_)) if !newest.missing.is_empty() => Some(egress?.filter.shipped + SETTLING),
            (Stage::Ready, Some(first)) => {
                let filter = &egress?.filter;
                let is_loading = filter.progress.is_none_or(|progress| progress.failing == 0);
                (!filter.is_in_force(first) && filter.has_ready_pods() && is_loading)
                    .then_some(filter.shipped + SETTLING)
            }
            (Stage::Closing | Stage::Draining(_), _) => None,
        }
    }
}
