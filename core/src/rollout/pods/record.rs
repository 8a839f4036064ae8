//! What agents have failed at since all was well.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::rollout::event::{GatewayPod, GatewayReport};

/// What a pod says of the configuration that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Loaded {
    /// Its revision; none before there ever was one.
    pub(in super::super) revision: Option<u64>,
    /// How often the agent has failed to get a module.
    pub(in super::super) failures: u64,
}

/// How often the agent of each pod had failed when its pod last did what it was told. Agents count from their start and
/// never go back, so that only more than that is a failure of today.
#[derive(Debug, Default)]
pub(in super::super) struct Record(BTreeMap<Arc<str>, u64>);

impl Record {
    /// What these pods say, but for failures from before they last had the configuration that was wanted: by now, the
    /// one with this revision.
    pub(in super::super) fn since_success(
        &mut self,
        revision: u64,
        reports: &[(&GatewayPod, Option<&GatewayReport>)],
    ) -> Vec<Option<Loaded>> {
        self.0.retain(|name, _| reports.iter().any(|(pod, _)| pod.name == *name));
        reports.iter().map(|(pod, report)| Some(self.one(revision, pod, (*report)?))).collect()
    }

    fn one(&mut self, revision: u64, pod: &GatewayPod, report: &GatewayReport) -> Loaded {
        let count = report.module_failures;
        let before = self.0.entry(Arc::clone(&pod.name)).or_default();
        if report.revision == Some(revision) {
            *before = count;
        } else if count < *before {
            // An agent that has started anew counts anew.
            *before = 0;
        }
        Loaded { revision: report.revision, failures: count - *before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_pod(name: &str) -> GatewayPod {
        let address = "10.0.0.1".parse().unwrap();
        GatewayPod { namespace: "secure".into(), name: name.into(), address, is_ready: true }
    }

    fn mk_report(revision: Option<u64>, module_failures: u64) -> GatewayReport {
        GatewayReport { revision, module_failures, ..GatewayReport::default() }
    }

    #[test]
    fn only_failures_since_the_last_success_count() {
        let mut record = Record::default();
        let mut failures = |expected: u64, revision, module_failures| {
            let report = mk_report(revision, module_failures);
            let reports = record.since_success(expected, &[(&mk_pod("a"), Some(&report))]);
            reports[0].unwrap().failures
        };
        for (expected, revision, counted, want, message) in [
            (7, None, 2, 2, "it never worked"),
            (7, Some(7), 2, 0, "it works, so what was is over"),
            (8, Some(7), 2, 0, "a new config is on its way"),
            (8, Some(7), 3, 1, "the new one's module fails"),
            (8, Some(8), 3, 0, "it works again"),
            (8, None, 1, 1, "the agent has started anew, and fails"),
            (8, None, 2, 2, "again"),
        ] {
            assert_eq!(failures(expected, revision, counted), want, "{message}");
        }
        let new = mk_report(None, 3);
        let reports = record.since_success(8, &[(&mk_pod("b"), Some(&new)), (&mk_pod("c"), None)]);
        let loaded = Loaded { revision: None, failures: 3 };
        assert_eq!(reports, [Some(loaded), None], "another pod has a count of its own, a silent one none");
    }
}
