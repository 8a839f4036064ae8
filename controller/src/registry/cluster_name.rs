//! The name of a cluster.

use std::fmt;
use std::str::FromStr;

use mcwan_policy::is_label;

/// The name of a cluster in the registry, and of its service account there: a DNS label. `default` Kubernetes has for itself in
/// each namespace, and makes it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterName(String);

/// The service account that each namespace has (Kubernetes, "Service Accounts").
const DEFAULT: &str = "default";

/// A text that no cluster can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a cluster's name is a DNS label: at most 63 of a-z, 0-9 and -, with a letter or digit at both ends; not `default`, which \
     is the service account of every namespace"
)]
pub struct ClusterNameError;

impl ClusterName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClusterName {
    type Err = ClusterNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_label(text) && text != DEFAULT { Ok(Self(text.to_owned())) } else { Err(ClusterNameError) }
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_dns_label() {
        let longest = "a".repeat(63);
        for text in ["c", "cluster-1", "1", longest.as_str()] {
            assert_eq!(text.parse::<ClusterName>().map(|name| name.to_string()), Ok(text.to_owned()));
        }
        let too_long = "a".repeat(64);
        for text in ["", "Cluster", "c_1", "c.1", "-c", "c-", "c 1", "c:1", "é", "default", too_long.as_str()] {
            assert_eq!(text.parse::<ClusterName>(), Err(ClusterNameError), "{text:?}");
        }
    }
}
