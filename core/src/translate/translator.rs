//! Translation that looks again only at what a change may concern.

mod listeners;
mod own_cluster;

pub use own_cluster::Callers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{McsVersion, Route};
use crate::liveness::Liveness;
use crate::problem::Problem;
use crate::snapshot::change::Change;
use crate::snapshot::{Key, Keyed, Snapshot, is_from_elsewhere, is_of_hosts, of_hosts, view};

use super::front_end::{FrontEnd, FrontEnds};
use super::{
    Exports, Families, Import, LocalExport, Options, RouteHosts, RouteOptions, SteeringKey, clusterset, tier_service,
    trust,
};

/// What the resources mean, kept up to date.
#[derive(Debug)]
pub struct Translator {
    options: Options,
    exports: Exports,
    imports: Keyed<Arc<Import>>,
    /// Which `Route` has which host.
    hosts: RouteHosts,
    local_exports: Keyed<LocalExport>,
    /// By Service of this cluster, the imports whose rules name it.
    referrers: Keyed<BTreeSet<Key>>,
}

/// What must be looked at again after changes; it may also be gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Imports.
    pub imports: BTreeSet<Key>,
    /// Exports of this cluster.
    pub exports: BTreeSet<Key>,
    /// Namespaces whose egress gateway serves other rules or ports.
    pub egress: BTreeSet<Arc<str>>,
    /// Namespaces whose ingress gateway serves other ports or admits others.
    pub ingress: BTreeSet<Arc<str>>,
    /// What the registry is told of this cluster.
    pub cluster: bool,
    /// The tiers.
    pub tiers: bool,
}

impl Translator {
    /// Knows nothing yet.
    pub fn new(options: Options) -> Self {
        Self {
            exports: Exports::none(&options),
            hosts: RouteHosts::new(options.routes.clone()),
            options,
            imports: Keyed::default(),
            local_exports: Keyed::default(),
            referrers: Keyed::default(),
        }
    }

    /// Brings everything up to date that the changes may concern.
    pub fn update<'c>(&mut self, snapshot: &Snapshot, changes: impl IntoIterator<Item = &'c Change>) -> Affected {
        let changes: BTreeSet<&Change> = changes.into_iter().collect();
        // Another address of an API server may be one that an export names.
        let is_api_server = |change: &&Change| match change {
            Change::Service(key) | Change::Endpoints(key) => trust::is_api_server(key),
            _ => false,
        };
        let has_moved = changes.iter().any(is_api_server) && self.exports.misses_api_servers(snapshot);
        let is_all = has_moved || changes.contains(&Change::Everything);
        let mut affected = if is_all {
            self.everything(snapshot)
        } else {
            let mut affected = Affected::default();
            for change in changes {
                self.concern(snapshot, change, &mut affected);
            }
            affected
        };
        affected.views(snapshot);
        affected.hosts(snapshot);
        // Imports come before routes for hosts.
        let (hosts, imports): (Vec<_>, Vec<_>) = affected.imports.iter().partition(|key| is_of_hosts(key));
        for key in imports.into_iter().chain(hosts) {
            let is_importing = |all: &Keyed<Arc<Import>>| {
                let mut all = all.in_namespace(&key.namespace);
                if is_from_elsewhere(key) {
                    // Its gateways are told for the namespace of what it is a view of.
                    all.any(|import| import.key == *key)
                } else {
                    all.any(|import| !is_from_elsewhere(&import.key) && import.is_service())
                }
            };
            let before = is_importing(&self.imports);
            self.translate_import(snapshot, key);
            // The registry is told of the gateways of namespaces that import.
            affected.cluster |= before != is_importing(&self.imports);
        }
        for namespace in affected.egress.clone() {
            self.allot_listeners(&namespace, &mut affected);
        }
        for key in &affected.exports {
            let before = self.is_exporting(&key.namespace);
            self.translate_export(snapshot, key);
            // The registry is told which gateways of other clusters are admitted to namespaces that export.
            affected.cluster |= before != self.is_exporting(&key.namespace);
        }
        affected
    }

    /// From now on, this version of the Multi-Cluster Services API is served.
    pub fn serve_mcs(&mut self, version: McsVersion) {
        self.options.mcs_version = version;
    }

    /// The version of the Multi-Cluster Services API that is served.
    pub fn mcs_version(&self) -> McsVersion {
        self.options.mcs_version
    }

    /// The kinds that give rules beside `ServiceImport`.
    pub fn front_ends(&self) -> FrontEnds {
        self.options.front_ends
    }

    /// What holds for all `Route`s.
    pub fn routes(&self) -> &RouteOptions {
        &self.options.routes
    }

    /// The key of the digests in steering values.
    pub fn steering_key(&self) -> &SteeringKey {
        &self.options.steering_key
    }

    /// For how long the egress gateways of a cluster that is stale are admitted; none: for as long as it is registered.
    pub fn stale_gateways(&self) -> Option<Duration> {
        self.options.trust.stale_gateways
    }

    /// From now on, this is the key of the digests in steering values: every import must be looked at again.
    pub fn use_steering_key(&mut self, key: SteeringKey) {
        self.options.steering_key = key;
    }

    fn everything(&mut self, snapshot: &Snapshot) -> Affected {
        self.exports = Exports::new(snapshot, &self.options);
        let keys = |keyed: &mut dyn Iterator<Item = Key>| keyed.collect::<BTreeSet<_>>();
        let mut imports = keys(&mut self.imports.iter().map(|(key, _)| key));
        imports.extend(snapshot.service_imports.iter().map(|import| Key::of(&import.metadata)));
        imports.extend(snapshot.unreadable_imports.iter().map(|(key, _)| key));
        imports.extend(self.exports.services());
        imports.extend(snapshot.routes.views());
        imports.extend(self.hosts.look_at_all(snapshot).iter().map(|namespace| of_hosts(namespace)));
        let mut exports = keys(&mut self.local_exports.iter().map(|(key, _)| key));
        exports.extend(snapshot.service_exports.iter().map(|export| Key::of(&export.metadata)));
        let namespaces = |keys: &BTreeSet<Key>| keys.iter().map(|key| Arc::clone(&key.namespace)).collect();
        let (egress, ingress) = (namespaces(&imports), namespaces(&exports));
        Affected { imports, exports, egress, ingress, cluster: true, tiers: true }
    }

    /// Adds what one change may concern.
    fn concern(&mut self, snapshot: &Snapshot, change: &Change, affected: &mut Affected) {
        match change {
            // The one is looked at by itself, the other says nothing of what is wanted.
            Change::Everything
            | Change::PolicyStatus(_)
            | Change::ImportStatus(_)
            | Change::McsImportStatus(_)
            | Change::ConnectionStatus(_)
            | Change::Admitted(_)
            | Change::RemoteEndpoints(_)
            | Change::OpenshiftRouteStatus(_)
            | Change::Route(_) => {}
            Change::OpenshiftRoute(key) => {
                for namespace in self.hosts.look_at(key, snapshot) {
                    affected.import(of_hosts(&namespace));
                }
            }
            Change::Secrets(namespace) => affected.import(of_hosts(namespace)),
            Change::RemoteEgress(namespace) => {
                affected.ingress.insert(Arc::clone(namespace));
                affected.cluster = true;
            }
            Change::Import(key) => affected.import(key.clone()),
            Change::Addresses(key) => {
                let now = || clusterset::addresses(snapshot, &key.namespace, &key.name);
                if self.imports.get(&key.namespace, &key.name).is_some_and(|import| import.addresses != now()) {
                    affected.import(key.clone());
                }
            }
            Change::Liveness(cluster) => {
                let is_stale = snapshot.stale_clusters.contains(&**cluster);
                let liveness = if is_stale { Liveness::Stale } else { Liveness::Live };
                let services = self.exports.judge(cluster, liveness);
                self.concern_services(services, affected);
            }
            Change::Cluster(_) | Change::Admission(_) | Change::ConnectionPolicies => {
                if let Some(services) = self.exports.connect(snapshot, change) {
                    self.concern_services(services, affected);
                    // Whom gateways here admit is told to the others.
                    affected.ingress.extend(self.local_exports.namespaces().cloned());
                    affected.cluster = true;
                }
                // Of itself, it may tell what the registry has.
                let own = self.options.cluster.as_deref();
                affected.cluster |= matches!(change, Change::Cluster(cluster) if own == Some(&**cluster));
            }
            Change::Exported { service, export } => {
                // Who shares a name with it may get it, or lose it.
                let rivals = |exports: &Exports| tier_service::rivals(exports, &service.namespace, &service.name);
                let before = rivals(&self.exports);
                let now = snapshot.exported_services.get(&export.namespace, &export.name);
                let now = now.filter(|now| now.spec.namespace == *service.namespace && now.spec.name == *service.name);
                self.exports.update(service, export, now);
                let rivals = before.into_iter().chain(rivals(&self.exports));
                for (namespace, name) in rivals.filter(|(namespace, name)| self.imports.get(namespace, name).is_some())
                {
                    affected.import(Key::new(namespace, name));
                }
                affected.import(service.clone());
                self.referrers_of(&service.namespace, Some(&service.name)).for_each(|import| affected.import(import));
                // They may disagree about its ports.
                affected.export(snapshot, service);
            }
            Change::Service(key) => {
                self.referrers_of(&key.namespace, Some(&key.name)).for_each(|import| affected.import(import));
                affected.export(snapshot, key);
            }
            Change::Endpoints(key) => {
                let referrers = self.referrers_of(&key.namespace, Some(&key.name)).filter(is_of_hosts);
                referrers.for_each(|import| affected.import(import));
                affected.export(snapshot, key);
            }
            Change::Grants(namespace) => {
                snapshot.routes.parents_in(namespace).for_each(|import| affected.import(import));
                self.referrers_of(namespace, None).for_each(|import| affected.import(import));
            }
            Change::Export(key) => {
                affected.exports.insert(key.clone());
                affected.ingress.insert(Arc::clone(&key.namespace));
            }
            Change::GatewayPods(namespace) => {
                let exports = self.local_exports.in_namespace(namespace).map(|exported| exported.key.clone());
                affected.exports.extend(exports);
                affected.cluster = true;
                let families = Families::of_egress(snapshot, namespace);
                let imports = self.imports.in_namespace(namespace).filter(|import| import.families != families);
                imports.for_each(|import| affected.import(import.key.clone()));
            }
            Change::Namespace(namespace) => {
                let imported = self.exports.services().filter(|service| service.namespace == *namespace);
                let known = self.imports.in_namespace(namespace).map(|import| import.key.clone());
                imported.chain(known).for_each(|import| affected.import(import));
                let routes = snapshot.routes.in_namespace(namespace).flat_map(Route::imports);
                // The import itself tells routes of a namespace that goes; what is seen of it elsewhere follows from it.
                routes.for_each(|(of, name)| affected.import(Key::new(of, name)));
                if snapshot.openshift_routes.in_namespace(namespace).next().is_some() {
                    affected.import(of_hosts(namespace));
                }
            }
        }
    }

    /// Where these services lead may be otherwise.
    fn concern_services(&self, services: Vec<Key>, affected: &mut Affected) {
        for service in services {
            self.referrers_of(&service.namespace, Some(&service.name)).for_each(|import| affected.import(import));
            if self.imports.get(&service.namespace, &service.name).is_some() {
                affected.import(service);
            }
        }
    }

    /// The imports whose rules name a Service or import, or any of a namespace.
    fn referrers_of(&self, namespace: &str, name: Option<&str>) -> impl Iterator<Item = Key> {
        let one = name.and_then(|name| self.referrers.get(namespace, name));
        let all = name.is_none().then(|| self.referrers.in_namespace(namespace));
        one.into_iter().chain(all.into_iter().flatten()).flatten().cloned()
    }

    fn translate_import(&mut self, snapshot: &Snapshot, key: &Key) {
        let kinds = (self.options.front_ends, &self.hosts, &self.imports);
        let front_end = FrontEnd::of(key, snapshot, &self.exports, kinds);
        let import = front_end.map(|front_end| Import::new(front_end, snapshot, &self.exports, &self.options));
        let services = import.as_ref().map(|import| import.services.clone()).unwrap_or_default();
        let before = match import {
            Some(import) => self.imports.insert(key, Arc::new(import)),
            None => self.imports.remove(key),
        };
        let before = before.map(|before| before.services.clone()).unwrap_or_default();
        for service in before.difference(&services) {
            let referrers = self.referrers.entry(service);
            referrers.remove(key);
            if referrers.is_empty() {
                self.referrers.remove(service);
            }
        }
        for service in services.difference(&before) {
            self.referrers.entry(service).insert(key.clone());
        }
    }

    fn translate_export(&mut self, snapshot: &Snapshot, key: &Key) {
        match snapshot.service_exports.get(&key.namespace, &key.name) {
            Some(export) => {
                let exported = LocalExport::new(export, snapshot, &self.exports, &self.options);
                drop(self.local_exports.insert(key, exported));
            }
            None => drop(self.local_exports.remove(key)),
        }
    }

    /// Whether anything of a namespace is exported.
    fn is_exporting(&self, namespace: &str) -> bool {
        self.local_exports.in_namespace(namespace).any(LocalExport::is_exported)
    }

    /// What other clusters export.
    pub fn exports(&self) -> &Exports {
        &self.exports
    }

    /// What this cluster imports.
    pub fn imports(&self) -> &Keyed<Arc<Import>> {
        &self.imports
    }

    /// What this cluster exports, or should.
    pub fn local_exports(&self) -> &Keyed<LocalExport> {
        &self.local_exports
    }

    /// The imports of a namespace, the oldest first: of two that claim a host the earlier one has it.
    pub fn imports_of(&self, namespace: &str) -> Vec<&Arc<Import>> {
        let mut imports: Vec<_> = self.imports.in_namespace(namespace).collect();
        imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
        imports
    }

    /// What is wrong with tiers, clusters, policies and exports; what is wrong with an import, it tells itself.
    pub fn problems(&self) -> Vec<Problem> {
        let exported = self.local_exports.values().flat_map(|exported| &exported.problems);
        self.exports.all_problems().chain(exported).cloned().collect()
    }

    pub(super) fn into_imports(self) -> Vec<Import> {
        let mut imports: Vec<_> = self.imports.into_values().map(Arc::unwrap_or_clone).collect();
        imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
        imports
    }
}

impl Affected {
    /// What an import means in its own namespace and what it means in others comes from one source.
    fn views(&mut self, snapshot: &Snapshot) {
        for import in self.imports.clone() {
            let routes = snapshot.routes.all_below(&import);
            routes.for_each(|route| self.import(view(&route.key.namespace, &import)));
        }
    }

    /// What `Route`s may have depends on the imports of their namespace.
    fn hosts(&mut self, snapshot: &Snapshot) {
        let namespaces = self.imports.iter().map(|import| &import.namespace);
        let have_routes = |namespace: &&Arc<str>| snapshot.openshift_routes.in_namespace(namespace).next().is_some();
        let routes: Vec<_> = namespaces.filter(have_routes).map(|namespace| of_hosts(namespace)).collect();
        self.imports.extend(routes);
    }

    fn import(&mut self, key: Key) {
        self.egress.insert(Arc::clone(&key.namespace));
        self.imports.insert(key);
    }

    fn export(&mut self, snapshot: &Snapshot, key: &Key) {
        if snapshot.service_exports.get(&key.namespace, &key.name).is_some() {
            self.ingress.insert(Arc::clone(&key.namespace));
            self.exports.insert(key.clone());
        }
    }
}
