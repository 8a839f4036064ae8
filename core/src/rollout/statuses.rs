//! What the user's objects are told, from what is known.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use super::Rollout;
use super::queue::OfNamespace;
use crate::api::mcs_service_import::McsServiceImportStatus;
use crate::api::{ClusterConnectionStatus, DataPlane, MeasuredTier, ServiceImportStatus, Sla, WanPolicyStatus};
use crate::emit::object::Kind;
use crate::liveness::Liveness;
use crate::moment::Moment;
use crate::snapshot::pod::PodCondition;
use crate::snapshot::{Key, RouteRef, Snapshot, is_from_elsewhere, of_hosts, view};
use crate::status::{self, RouteParent, Shape, StatusKind, StatusPatch, Subject};
use crate::translate::Import;

/// An object that has a status.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusKey {
    Policy(Key),
    /// What is told of the tiers to another cluster.
    Connection(Key),
    Import(Key),
    /// The `ServiceImport` of the Multi-Cluster Services API for an import.
    Clusterset(Key),
    Export(Key),
    /// A route that has an import as its parent.
    Route(RouteRef),
    OpenshiftRoute(Key),
    /// A pod of an egress gateway.
    Pod(Key),
}

impl OfNamespace for StatusKey {
    fn namespace(&self) -> Arc<str> {
        match self {
            Self::Policy(_) | Self::Connection(_) => Arc::default(),
            Self::Import(key)
            | Self::Clusterset(key)
            | Self::Export(key)
            | Self::OpenshiftRoute(key)
            | Self::Pod(key)
            | Self::Route(RouteRef { key, .. }) => Arc::clone(&key.namespace),
        }
    }
}

impl Rollout {
    /// What changes in what an object is told.
    pub(super) fn patch(&self, subject: &StatusKey, now: Moment) -> Option<StatusPatch> {
        let (snapshot, translator, clock) =
            (&self.world.snapshot, &self.model.translator, self.conditions.clock.as_ref()?);
        let exports = translator.exports();
        match subject {
            StatusKey::Policy(key) => {
                let policy = snapshot.wan_policies.get(&key.namespace, &key.name)?;
                let emitted = self.model.problems.values().flatten();
                status::wan_policy(Subject::wan_policy(policy), exports, emitted, clock)
            }
            StatusKey::Connection(key) => {
                let written = snapshot.cluster_connections.get(&key.namespace, &key.name)?;
                let is_stale = snapshot.stale_clusters.contains(&*key.name);
                let liveness = if is_stale { Liveness::Stale } else { Liveness::Live };
                let told = self.quality.told(&key.name);
                let measured = |tier: &str, before: Option<&MeasuredTier>| match told {
                    Some(told) => told.get(tier).map(|measured| {
                        let policy = snapshot.wan_policies.get("", tier);
                        let promise = policy.and_then(|policy| policy.spec.sla.as_ref()).map(Sla::promise);
                        measured.told(before, &promise.unwrap_or_default(), clock)
                    }),
                    None => before.cloned(),
                };
                status::cluster_connection(written, exports.connection(&key.name)?, liveness, measured, clock)
            }
            StatusKey::Import(key) => {
                let subject = Subject::of_import(snapshot, key)?;
                let import = translator.imports().get(&key.namespace, &key.name)?;
                let delivery = self.delivery_of_import(import, now);
                status::service_import(subject, import, exports, self.problems_of(key), &delivery, clock)
            }
            StatusKey::Route(route) => {
                let parent = |key: &Key| {
                    let imports = translator.imports();
                    let seen = view(&route.key.namespace, key);
                    let import = imports.get(&seen.namespace, &seen.name);
                    // Another route may be granted what this one is not.
                    let is_told = |import: &&Arc<Import>| import.attachments.iter().any(|one| one.route == *route);
                    let import = import.filter(is_told);
                    // No parent is what another namespace sees, or what hosts ask for, though it may be called so.
                    let is_parent = |import: &&Arc<Import>| import.is_service() && !is_from_elsewhere(&import.key);
                    let own = || imports.get(&key.namespace, &key.name).filter(is_parent);
                    let import = import.or_else(own)?;
                    Some(RouteParent {
                        import,
                        emitted: self.problems_of(&import.key).collect(),
                        delivery: self.delivery_of_import(import, now),
                    })
                };
                let route = snapshot.routes.get(route).filter(|_| translator.front_ends().has(route.kind))?;
                let is_exported = |key: &Key| snapshot.service_exports.get(&key.namespace, &key.name).is_some();
                status::route(route, parent, is_exported, clock)
            }
            // What is said of one as it was, nobody takes any more.
            StatusKey::OpenshiftRoute(key) if self.world.holds_route(key) => None,
            StatusKey::OpenshiftRoute(key) => {
                let route = snapshot.openshift_routes.get(&key.namespace, &key.name)?;
                let hosts = of_hosts(&key.namespace);
                let import = translator.imports().get(&hosts.namespace, &hosts.name)?;
                let emitted = import.problems.iter().chain(self.problems_of(&hosts));
                let admitted = (&import.object, import.admissions.get(key)?);
                status::openshift_route(route, admitted, emitted, &translator.routes().router_name, clock)
            }
            StatusKey::Clusterset(key) => {
                let written = snapshot.mcs_service_imports.get(&key.namespace, &key.name)?;
                let import = translator.imports().get(&key.namespace, &key.name)?;
                let delivery = self.delivery_to_clients(import, now);
                let is_native = self.model.settings.data_plane(import) == DataPlane::Native;
                let mut slices = self.objects.observed.of_import(Kind::EndpointSlice, &key.namespace, key);
                let shape = Shape { is_native, has_slices: slices.next().is_some() };
                let emitted = self.problems_of(key);
                status::mcs_service_import(
                    written,
                    self.conditions.mcs_version,
                    import,
                    emitted,
                    &delivery,
                    shape,
                    clock,
                )
            }
            StatusKey::Pod(key) => {
                let pod = snapshot.gateway_pods.get(&key.namespace, &key.name)?;
                status::gateway_pod(pod, self.readiness.pods.get(key)?.admittance, clock)
            }
            StatusKey::Export(key) => {
                let export = snapshot.service_exports.get(&key.namespace, &key.name)?;
                let exported = translator.local_exports().get(&key.namespace, &key.name)?;
                let delivery = self.delivery(self.needs_of_export(key));
                let subject = Subject::service_export(export);
                status::service_export(subject, self.conditions.mcs_version, exported, exports, &delivery, clock)
            }
        }
    }
}

/// Whether an object still is as it was when a patch was made: a watch may have brought what others told it since, and that
/// holds.
fn is_as_it_was(metadata: &ObjectMeta, patch: &StatusPatch) -> bool {
    let version = patch.body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    metadata.uid == patch.uid && metadata.resource_version.as_deref() == version
}

/// Takes in conditions that were written: their echo may be long in coming. An object may have gone since, and another one of its
/// name be there, which was told nothing.
pub(super) fn remember(snapshot: &mut Snapshot, patch: &StatusPatch) {
    let Key { namespace, name } = &patch.key;
    if let (StatusKind::Route(kind), Some(Value::Array(told))) = (patch.kind, patch.body.pointer("/status/parents"))
        && let Some(route) = snapshot.routes.get_mut(&RouteRef { kind, key: patch.key.clone() })
        && is_as_it_was(&route.metadata, patch)
    {
        route.told.clone_from(told);
    }
    if let Some(Value::Array(ingress)) = patch.body.pointer("/status/ingress")
        && let Some(route) = snapshot.openshift_routes.get_mut(namespace, name)
        && is_as_it_was(&route.metadata, patch)
    {
        route.tell(ingress.clone());
    }
    let Some(conditions) = patch.body.pointer("/status/conditions") else { return };
    if let (StatusKind::Pod, Ok(written)) = (patch.kind, Vec::<PodCondition>::deserialize(conditions)) {
        let pod = snapshot.gateway_pods.get_mut(namespace, name).filter(|pod| pod.metadata.uid == patch.uid);
        if let Some(status) = pod.and_then(|pod| pod.status.as_mut()) {
            let known = status.conditions.get_or_insert_default();
            known.retain(|known| !written.iter().any(|new| new.type_ == known.type_));
            known.extend(written);
        }
        return;
    }
    let Ok(written) = Vec::<Condition>::deserialize(conditions) else { return };
    let is_it = |metadata: &ObjectMeta| metadata.uid == patch.uid;
    match patch.kind {
        StatusKind::ServiceImport => {
            let readable = snapshot.service_imports.get_mut(namespace, name);
            let unreadable = snapshot.unreadable_imports.get_mut(namespace, name);
            if let Some(import) = readable.filter(|import| is_it(&import.metadata)) {
                import.status = Some(ServiceImportStatus { conditions: written });
            } else if let Some(unreadable) = unreadable.filter(|unreadable| is_it(&unreadable.metadata)) {
                unreadable.conditions = written;
            }
        }
        StatusKind::Route(_) | StatusKind::OpenshiftRoute | StatusKind::Pod => {}
        StatusKind::WanPolicy => {
            if let Some(policy) = snapshot.wan_policies.get_mut(namespace, name)
                && is_it(&policy.metadata)
            {
                policy.status = Some(WanPolicyStatus { conditions: written });
            }
        }
        StatusKind::ClusterConnection => {
            if let Some(connection) = snapshot.cluster_connections.get_mut(namespace, name)
                && is_it(&connection.metadata)
                && let Some(Ok(status)) = patch.body.get("status").map(ClusterConnectionStatus::deserialize)
            {
                connection.status = Some(status);
            }
        }
        StatusKind::McsServiceImport(_) => {
            if let Some(import) = snapshot.mcs_service_imports.get_mut(namespace, name)
                && is_it(&import.metadata)
                && let Some(Ok(status)) = patch.body.get("status").map(McsServiceImportStatus::deserialize)
            {
                import.status = status;
            }
        }
        StatusKind::ServiceExport(_) => {
            if let Some(export) = snapshot.service_exports.get_mut(namespace, name)
                && is_it(&export.metadata)
            {
                let conditions = &mut export.status.conditions;
                conditions.retain(|known| !written.iter().any(|new| new.type_ == known.type_));
                conditions.extend(written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::McsVersion;

    fn mk<T: serde::de::DeserializeOwned>(kind: &str, uid: &str) -> T {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "a", "name": "x", "uid": uid}, "spec": {}});
        serde_json::from_value(object).unwrap()
    }

    /// Somebody deletes an object and makes it anew while its status is being written.
    #[test]
    fn what_was_said_of_an_object_that_is_gone_is_not_said_of_the_next() {
        let key = Key::new("a", "x");
        let mut snapshot = Snapshot::default();
        snapshot.service_imports.insert(mk("ServiceImport", "new"));
        snapshot.service_exports.insert(mk("ServiceExport", "new"));
        snapshot.mcs_service_imports.insert(&key, mk("ServiceImport", "new"));
        let condition = json!({"type": "Ready", "status": "True", "reason": "Ready", "message": "it is", "lastTransitionTime": "2026-11-26T08:00:00Z"});
        let body = json!({"status": {"conditions": [condition]}});
        for (uid, told) in [("old", 0), ("new", 1)] {
            for kind in [
                StatusKind::ServiceImport,
                StatusKind::ServiceExport(McsVersion::V1Beta1),
                StatusKind::McsServiceImport(McsVersion::V1Beta1),
            ] {
                let (key, uid, body) = (key.clone(), Some(uid.to_owned()), body.clone());
                remember(&mut snapshot, &StatusPatch { kind, key, uid, body, news: Vec::new() });
            }
            let import = snapshot.service_imports.get("a", "x").unwrap().status.as_ref();
            assert_eq!(import.map_or(0, |status| status.conditions.len()), told, "{uid}: ServiceImport");
            let export = snapshot.service_exports.get("a", "x").unwrap();
            assert_eq!(export.status.conditions.len(), told, "{uid}: ServiceExport");
            let shown = snapshot.mcs_service_imports.get("a", "x").unwrap();
            assert_eq!(shown.status.conditions.len(), told, "{uid}: ServiceImport of the Multi-Cluster Services API");
        }
    }
}
