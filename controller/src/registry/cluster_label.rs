//! By what administrators tell clusters apart.

use std::str::FromStr;

use mcwan_core::api::exportable::{is_key, is_label_value};
use mcwan_core::emit::kubernetes::{CLUSTER_LABEL, MANAGED_BY_LABEL};

/// The labels that are not an administrator's to choose: those that a controller gives its cluster, and the one that
/// every cluster has by its name.
const GIVEN: [&str; 3] = [MANAGED_BY_LABEL, CLUSTER_LABEL, "kubernetes.io/metadata.name"];

/// A label of a cluster, `KEY=VALUE`, which policies select it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterLabel {
    pub(super) key: String,
    pub(super) value: String,
}

/// A text that is no label of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterLabelError {
    /// There is no value.
    #[error("a label is KEY=VALUE")]
    NoValue,
    /// Kubernetes knows no such key.
    #[error("the key of a label is a name of at most 63 letters, digits, `-`, `_` and `.`, or DOMAIN/NAME")]
    Key,
    /// Kubernetes knows no such value.
    #[error("the value of a label is nothing, or at most 63 letters, digits, `-`, `_` and `.`")]
    Value,
    /// It is not an administrator's to choose.
    #[error("each cluster has a label {0}, which follows from its name or its controller")]
    Given(&'static str),
}

impl ClusterLabel {
    /// What tells it from other labels.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl FromStr for ClusterLabel {
    type Err = ClusterLabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, value) = text.split_once('=').ok_or(ClusterLabelError::NoValue)?;
        if !is_key(key) {
            return Err(ClusterLabelError::Key);
        }
        if !is_label_value(value) {
            return Err(ClusterLabelError::Value);
        }
        match GIVEN.into_iter().find(|given| *given == key) {
            Some(given) => Err(ClusterLabelError::Given(given)),
            None => Ok(Self { key: key.to_owned(), value: value.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_one_that_kubernetes_takes_and_administrators_choose() {
        let long = "a".repeat(64);
        let (long_key, long_value) = (format!("{long}=b"), format!("a={long}"));
        let table = [
            ("env=cloud", Ok(("env", "cloud")), "a plain one"),
            ("example.com/Site_1=Zurich.2", Ok(("example.com/Site_1", "Zurich.2")), "a domain"),
            ("topology.kubernetes.io/region=eu", Ok(("topology.kubernetes.io/region", "eu")), "one of Kubernetes'"),
            ("edge=", Ok(("edge", "")), "no value is a value"),
            ("env", Err(ClusterLabelError::NoValue), "a key alone"),
            ("env-", Err(ClusterLabelError::NoValue), "what takes a label away in kubectl"),
            ("", Err(ClusterLabelError::NoValue), "nothing"),
            ("=cloud", Err(ClusterLabelError::Key), "no key"),
            ("e nv=cloud", Err(ClusterLabelError::Key), "a space in the key"),
            ("a/b/c=d", Err(ClusterLabelError::Key), "two domains"),
            (&long_key, Err(ClusterLabelError::Key), "a long key"),
            ("env=a=b", Err(ClusterLabelError::Value), "a second ="),
            ("env=-", Err(ClusterLabelError::Value), "a bad end"),
            ("env=a,b=c", Err(ClusterLabelError::Value), "two at once"),
            (&long_value, Err(ClusterLabelError::Value), "a long value"),
            ("app.kubernetes.io/managed-by=me", Err(ClusterLabelError::Given(MANAGED_BY_LABEL)), "the controller's"),
            ("mc-wan.l7mp.io/cluster=c2", Err(ClusterLabelError::Given(CLUSTER_LABEL)), "another cluster's"),
            ("kubernetes.io/metadata.name=c2", Err(ClusterLabelError::Given(GIVEN[2])), "another's name"),
        ];
        for (text, expected, message) in table {
            let label = text.parse::<ClusterLabel>();
            let found = label.as_ref().map(|label| (&*label.key, &*label.value)).map_err(Clone::clone);
            assert_eq!(found, expected, "{message}");
        }
    }
}
