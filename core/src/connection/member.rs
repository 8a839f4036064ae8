//! A cluster, as policies see it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;
use std::sync::Arc;

use crate::api::{ClusterTier, WanCluster};

/// A cluster, as policies see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub(super) name: Arc<str>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) tiers: BTreeMap<Arc<str>, MemberTier>,
    pub(super) cable_drivers: BTreeSet<String>,
}

/// A tier as one cluster knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberTier {
    pub(super) port: NonZeroU16,
    pub(super) cable_driver: Option<String>,
}

impl Member {
    /// The label that every cluster has, as a namespace has: its name.
    pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";

    /// A cluster. No label overrides the one that says its name.
    pub fn new<'m>(
        name: &str,
        labels: impl IntoIterator<Item = (&'m String, &'m String)>,
        tiers: &[ClusterTier],
        cable_drivers: &[String],
    ) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.clone(), value.clone()));
        let name_label = (Self::NAME_LABEL.to_owned(), name.to_owned());
        let tiers = tiers.iter().map(|ClusterTier { name, port, cable_driver }| {
            (name.as_str().into(), MemberTier { port: *port, cable_driver: cable_driver.clone() })
        });
        Self {
            name: name.into(),
            labels: labels.chain([name_label]).collect(),
            tiers: tiers.collect(),
            cable_drivers: cable_drivers.iter().cloned().collect(),
        }
    }

    /// A cluster as the registry has it.
    pub fn of(cluster: &WanCluster) -> Self {
        let WanCluster { metadata, spec } = cluster;
        let name = metadata.name.as_deref().unwrap_or_default();
        Self::new(name, metadata.labels.iter().flatten(), &spec.tiers, &spec.cable_drivers)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its labels, and the one that says its name.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The cable drivers that it supports, by name.
    pub fn cable_drivers(&self) -> impl Iterator<Item = &str> {
        self.cable_drivers.iter().map(String::as_str)
    }
}
