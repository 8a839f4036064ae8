//! What a service is to clients in every cluster, as the Multi-Cluster Services API has it.

use crate::api::{ExportedPort, ServiceProperties};

use super::{Exports, Merged, merge};

/// What a service of one or several clusters is to clients: the same in every cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusterset {
    /// The ports that any cluster has, those of older exports first.
    pub ports: Vec<ExportedPort>,
    /// What else it is.
    pub properties: ServiceProperties,
    /// The clusters that export it, in the order of their names.
    pub clusters: Vec<String>,
}

impl Clusterset {
    /// What the registry says of a service; none: nobody exports it.
    pub(super) fn of(exports: &Exports, namespace: &str, name: &str) -> Option<Self> {
        let mut clusters: Vec<_> =
            exports.declared(namespace, name).map(|one| one.precedence.cluster.clone()).collect();
        clusters.sort();
        let Merged { ports, properties, .. } = merge(exports.declared(namespace, name).collect())?;
        Some(Self { ports, properties: properties.clone(), clusters })
    }

    /// Whether requests go to other clusters only where this one has no ready pod (Kubernetes, `trafficDistribution`).
    pub fn stays_close(&self) -> bool {
        let distribution = self.properties.traffic_distribution.as_deref();
        matches!(distribution, Some("PreferClose" | "PreferSameZone" | "PreferSameNode"))
    }
}
