//! What a controller has made in its own cluster.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use kube::Error;
use kube::api::{Api, DynamicObject, ListParams};
use mcwan_core::emit::object::Kind;

use crate::controller::state::is_by_kubernetes;
use crate::scene::Scene;

/// Fails if the controller has made, changed or deleted something of a kind that it makes in this cluster.
pub(crate) async fn ensure_emitted(scene: &Scene, before: &BTreeMap<String, String>, message: &str) -> Result<()> {
    let now = emitted(scene).await?;
    let ids = before.keys().chain(now.keys().filter(|id| !before.contains_key(*id)));
    let changed: Vec<_> = ids.filter(|id| before.get(*id) != now.get(*id)).collect();
    ensure!(changed.is_empty(), "{message}: changed are {changed:?}");
    Ok(())
}

/// The versions of what the controller has made in this cluster, whatever the registry holds; without the slices that have
/// its Services' labels and that Kubernetes keeps.
pub(crate) async fn emitted(scene: &Scene) -> Result<BTreeMap<String, String>> {
    let mut versions = BTreeMap::new();
    // The last tells by its status how other clusters are.
    let others = [Kind::WanCluster, Kind::ExportedService, Kind::ClusterConnection];
    for kind in Kind::ALL.into_iter().filter(|kind| !others.contains(kind)) {
        let api: Api<DynamicObject> = Api::all_with(scene.cluster.client(), &kind.api_resource());
        let ours = ListParams::default().labels("app.kubernetes.io/managed-by=mcwan");
        let listed = match api.list(&ours).await {
            Err(Error::Api(status)) if status.code == 404 => continue,
            listed => listed?,
        };
        for object in listed.items.into_iter().filter(|object| !is_by_kubernetes(object)) {
            let key = [object.metadata.namespace, object.metadata.name].map(Option::unwrap_or_default).join("/");
            let version = [object.metadata.uid, object.metadata.resource_version].map(Option::unwrap_or_default);
            versions.insert(format!("{} {key}", kind.title()), version.join("@"));
        }
    }
    Ok(versions)
}
