//! What is reconciled as a whole.

use std::sync::Arc;

use crate::snapshot::Key;
use crate::translate::Affected;

/// A part of what is emitted that changes by itself. In order, what is in one namespace stands together, and its egress
/// behind its imports: what these have come to is known when the filter is composed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReconcileKey {
    /// Its namespace; empty for what the cluster has once.
    pub namespace: Arc<str>,
    /// Which part of it.
    pub part: Part,
}

/// A part of what is emitted for a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What all imports of the cluster share.
    Common,
    /// What the registry is told of the cluster.
    Cluster,
    /// What is told of which tiers this cluster and each other one may use.
    Connections,
    /// An import, by its name.
    Import(Arc<str>),
    /// The pods of a service of several clusters, by its name: what other clusters are told of them, and the slices here.
    Slices(Arc<str>),
    /// What the imports of a namespace share.
    Egress,
    /// What the exports of a namespace share.
    Ingress,
    /// An export, by its name.
    Export(Arc<str>),
}

impl ReconcileKey {
    fn of_cluster(part: Part) -> Self {
        Self { namespace: Arc::default(), part }
    }

    /// What all imports and exports of the cluster share.
    pub(super) fn shared() -> [Self; 2] {
        [Part::Common, Part::Cluster].map(Self::of_cluster)
    }

    /// What the registry is told of the cluster.
    pub(super) fn cluster() -> Self {
        Self::of_cluster(Part::Cluster)
    }

    /// What is told of the tiers to other clusters. No import or export needs it.
    pub(super) fn connections() -> Self {
        Self::of_cluster(Part::Connections)
    }

    /// An import.
    pub(super) fn import(key: &Key) -> Self {
        Self { namespace: Arc::clone(&key.namespace), part: Part::Import(Arc::clone(&key.name)) }
    }

    /// An export.
    pub(super) fn export(key: &Key) -> Self {
        Self { namespace: Arc::clone(&key.namespace), part: Part::Export(Arc::clone(&key.name)) }
    }

    /// The pods of a service of several clusters.
    pub(super) fn slices(key: &Key) -> Self {
        Self { namespace: Arc::clone(&key.namespace), part: Part::Slices(Arc::clone(&key.name)) }
    }

    /// What the imports of a namespace share.
    pub(super) fn egress(namespace: &Arc<str>) -> Self {
        Self { namespace: Arc::clone(namespace), part: Part::Egress }
    }

    /// What the exports of a namespace share.
    pub(super) fn ingress(namespace: &Arc<str>) -> Self {
        Self { namespace: Arc::clone(namespace), part: Part::Ingress }
    }

    /// What must be reconciled.
    pub(super) fn affected(affected: &Affected) -> Vec<Self> {
        let Affected { imports, exports, egress, ingress, cluster, tiers } = affected;
        let mut keys: Vec<_> = imports.iter().map(Self::import).chain(exports.iter().map(Self::export)).collect();
        keys.extend(imports.union(exports).map(Self::slices));
        keys.extend(egress.iter().map(Self::egress));
        keys.extend(ingress.iter().map(Self::ingress));
        // Clusters come and go with them.
        keys.extend(tiers.then(|| [Part::Common, Part::Connections].map(Self::of_cluster)).into_iter().flatten());
        keys.extend((*tiers || *cluster).then(Self::cluster));
        keys
    }
}
