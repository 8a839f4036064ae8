//! Why requests may not take a tier to a cluster.

use std::fmt;

use serde::Serialize;

use super::Reason;

/// Why requests may not take a tier to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotPermitted {
    /// The cluster.
    pub cluster: String,
    /// The tier.
    pub tier: String,
    /// Why the two clusters may not use it; none: they may, and the gateways there do not admit this one yet.
    pub reason: Option<Reason>,
    /// The `ClusterConnectionPolicy` that holds for the two, or those that conflict, by name.
    pub policies: Vec<String>,
}

/// `NotInPolicy with cluster c (ClusterConnectionPolicy p)`.
impl fmt::Display for NotPermitted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, tier: _, reason, policies } = self;
        let Some(reason) = reason else {
            return write!(formatter, "cluster {cluster} does not admit this one on it yet");
        };
        write!(formatter, "{reason} with cluster {cluster}")?;
        match policies.as_slice() {
            [] => Ok(()),
            [policy] => write!(formatter, " (ClusterConnectionPolicy {policy})"),
            several => write!(formatter, " (ClusterConnectionPolicies {})", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_by_which_policies() {
        let table: [(Option<Reason>, &[&str], &str); 4] = [
            (Some(Reason::NotInPolicy), &["p"], "NotInPolicy with cluster c (ClusterConnectionPolicy p)"),
            (
                Some(Reason::PolicyConflict),
                &["p", "q"],
                "PolicyConflict with cluster c (ClusterConnectionPolicies p, q)",
            ),
            (Some(Reason::DriverNotSupported), &[], "DriverNotSupported with cluster c"),
            (None, &["p"], "cluster c does not admit this one on it yet"),
        ];
        for (reason, policies, told) in table {
            let policies = policies.iter().map(ToString::to_string).collect();
            let why = NotPermitted { cluster: "c".to_owned(), tier: "high".to_owned(), reason, policies };
            assert_eq!(why.to_string(), told);
        }
    }
}
