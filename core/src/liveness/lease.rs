//! The Lease of a cluster in the registry.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease as KubernetesLease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube_core::ObjectMeta;
use serde_json::Value;

use crate::emit::kubernetes::{CLUSTER_LABEL, MANAGED_BY_LABEL, MANAGER};

/// The annotation in which a cluster keeps which others are stale to it, separated by commas: its controller knows it
/// after a restart, and others can look it up.
pub const STALE_ANNOTATION: &str = "mc-wan.l7mp.io/stale-clusters";

/// The annotation in which it keeps whose gateways it refuses because of that, in the same form.
pub const REFUSED_ANNOTATION: &str = "mc-wan.l7mp.io/refused-clusters";

/// A cluster is not waited for longer than this, whatever its Lease says.
const LONGEST: Duration = Duration::from_hours(1);

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// When its holder says that it was renewed. Only whether it is the same as before means something.
    pub renewal: Option<Box<str>>,
    /// How long its holder may be silent by its own word, which renews it every third of that; at most an hour.
    pub lasts: Duration,
    /// The clusters that are stale to its holder.
    pub stale: BTreeSet<String>,
    /// Those of them whose gateways its holder refuses.
    pub refused: BTreeSet<String>,
}

impl Lease {
    /// Reads a Lease, as the registry has it.
    pub fn of(object: &Value) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        let annotations = object.pointer("/metadata/annotations");
        let names = |annotation| {
            let names = annotations.and_then(|all| all.get(annotation)?.as_str()).unwrap_or_default();
            names.split(',').filter(|name| mcwan_policy::is_label(name)).map(str::to_owned).collect()
        };
        let seconds = object.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64).unwrap_or_default();
        Self {
            renewal: text("/spec/renewTime").map(Box::from),
            lasts: Duration::from_secs(seconds).min(LONGEST),
            stale: names(STALE_ANNOTATION),
            refused: names(REFUSED_ANNOTATION),
        }
    }
}

/// The Lease of a cluster that is alive now, to be applied; with the clusters that are stale to it, and those that it refuses.
pub fn renewed(
    cluster: &str,
    lease: Duration,
    [stale, refused]: [&BTreeSet<String>; 2],
    now: Timestamp,
) -> KubernetesLease {
    let labels = [(MANAGED_BY_LABEL, MANAGER), (CLUSTER_LABEL, cluster)];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let annotations = [(STALE_ANNOTATION, stale), (REFUSED_ANNOTATION, refused)].into_iter();
    let annotations = annotations.filter(|(_, names)| !names.is_empty()).map(|(annotation, names)| {
        (annotation.to_owned(), names.iter().map(String::as_str).collect::<Vec<_>>().join(","))
    });
    let annotations: BTreeMap<_, _> = annotations.collect();
    KubernetesLease {
        metadata: ObjectMeta {
            name: Some(cluster.to_owned()),
            labels: Some(labels.into()),
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(cluster.to_owned()),
            lease_duration_seconds: i32::try_from(lease.as_secs()).ok(),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let stale = BTreeSet::from(["c1", "c2"].map(str::to_owned));
        let refused = BTreeSet::from(["c2".to_owned()]);
        for [stale, refused] in [[stale.clone(), refused], [stale, BTreeSet::new()], [BTreeSet::new(), BTreeSet::new()]]
        {
            let at = |second| {
                let now = Timestamp::from_second(second).unwrap();
                renewed("own", Duration::from_secs(30), [&stale, &refused], now)
            };
            let [first, second] = [1, 2].map(|second| Lease::of(&serde_json::to_value(at(second)).unwrap()));
            assert_eq!((&first.stale, &first.refused), (&stale, &refused));
            assert_eq!(first.lasts, Duration::from_secs(30));
            assert!(first.renewal.is_some() && first.renewal != second.renewal, "{first:?} and {second:?}");
        }
    }

    #[test]
    fn what_others_write_does_no_harm() {
        let annotated = |text: &str| json!({"metadata": {"annotations": {STALE_ANNOTATION: text}}});
        let names = |object: &Value| Lease::of(object).stale.into_iter().collect::<Vec<_>>();
        assert_eq!(names(&annotated("c1,,Bad Name,c2,")), ["c1", "c2"], "what is no name");
        assert_eq!(Lease::of(&json!({"spec": null})), Lease::default(), "an empty one");
        assert_eq!(Lease::of(&json!({"spec": {"renewTime": 7}})).renewal, None, "a number");
        for (seconds, lasts) in [(json!(-1), Duration::ZERO), (json!(u64::MAX), LONGEST)] {
            assert_eq!(Lease::of(&json!({"spec": {"leaseDurationSeconds": seconds}})).lasts, lasts, "{seconds}");
        }
    }
}
