//! What a stage consists of.

/// A plan of clusters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many clusters there are; they are numbered from 1, and named `cluster-1` and so on.
    pub clusters: u8,
    /// The number of the cluster that holds the registry.
    pub registry: u8,
    /// How many replicas of the controller each cluster has.
    pub replicas: u8,
    /// More arguments of the controllers.
    pub controller_arguments: Vec<String>,
    /// The labels, `KEY=VALUE`, that clusters join the registry with, by their numbers; its holder does not join.
    pub labels: Vec<(u8, String)>,
    /// What chance on the WAN is drawn from: which packets are lost, and by how much they are late.
    pub seed: u64,
}

impl Default for Plan {
    /// Two clusters, the first with the registry, two replicas of the controller each.
    fn default() -> Self {
        Self { clusters: 2, registry: 1, replicas: 2, controller_arguments: Vec::new(), labels: Vec::new(), seed: 1 }
    }
}

impl Plan {
    /// So many clusters.
    #[must_use]
    pub fn clusters(self, clusters: u8) -> Self {
        Self { clusters, ..self }
    }

    /// The registry is in this cluster.
    #[must_use]
    pub fn registry(self, registry: u8) -> Self {
        Self { registry, ..self }
    }

    /// More arguments for the controllers.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.controller_arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// A cluster joins with this label, `KEY=VALUE`.
    #[must_use]
    pub fn label(mut self, cluster: u8, label: &str) -> Self {
        self.labels.push((cluster, label.to_owned()));
        self
    }
}
