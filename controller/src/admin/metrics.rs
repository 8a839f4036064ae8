//! The controller's statistics.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mcwan_core::liveness::RegistryState;
use mcwan_core::problem::Reason;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::module::ModuleStatus;

/// Upper bounds of the reconcile duration's buckets in seconds.
const SECONDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

/// How many objects are named at most.
const MOST_NAMES: usize = 20;

type Labels<const N: usize> = [(&'static str, String); N];
type Number = Gauge<u64, AtomicU64>;

/// The statistics; every name starts with `mcwan_`. Label values are kinds, condition types, statuses
/// and reasons, of each of which there are few, and the names of some objects in the registry.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    reconcile_duration: Histogram,
    reconcile_errors: Family<Labels<1>, Counter>,
    objects_applied: Family<Labels<1>, Counter>,
    objects_pruned: Family<Labels<1>, Counter>,
    imports: Family<Labels<2>, Number>,
    largest_config: Number,
    all_configs: Number,
    leader: Number,
    watch_restarts: Family<Labels<1>, Counter>,
    api_errors: Family<Labels<1>, Counter>,
    module_ok: Number,
    clusters: Family<Labels<1>, Number>,
    longest_stale: Number,
    untold_gateways: Number,
    unreadable_objects: Family<Labels<2>, Number>,
    registry_reachable: Number,
    renewal_errors: Family<Labels<1>, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("mcwan");
        let all = &mut registry;
        let reconcile_duration = Histogram::new(SECONDS);
        all.register_with_unit(
            "reconcile_duration",
            "Time that working out what is to be done about a change takes",
            Unit::Seconds,
            reconcile_duration.clone(),
        );
        Self {
            reconcile_duration,
            reconcile_errors: registered(
                all,
                "reconcile_errors",
                "Attempts to bring an object to what is wanted that failed",
            ),
            objects_applied: registered(all, "objects_applied", "Objects that were written"),
            objects_pruned: registered(all, "objects_pruned", "Objects that were deleted"),
            imports: registered(all, "imports", "Imports by the status of their conditions"),
            largest_config: measured(
                all,
                "largest_config",
                "Size of the largest configuration of the filter",
                Unit::Bytes,
            ),
            all_configs: measured(all, "all_configs", "Size of all configurations of the filter together", Unit::Bytes),
            leader: registered(all, "leader", "1 where this replica leads, else 0"),
            watch_restarts: registered(all, "watch_restarts", "Watches that had to start anew"),
            api_errors: registered(all, "api_errors", "Requests that the API server refused or did not answer"),
            module_ok: registered(all, "module_ok", "1 where the module can be fetched and is the filter, else 0"),
            clusters: registered(all, "clusters", "Other clusters by whether they renew their Leases"),
            longest_stale: measured(
                all,
                "longest_stale",
                "For how long another cluster has been stale while the registry could be reached, of several the longest",
                Unit::Seconds,
            ),
            untold_gateways: registered(
                all,
                "untold_gateways",
                "Egress gateways of which the registry is not told everything, as it is over a bound",
            ),
            unreadable_objects: registered(
                all,
                "unreadable_objects",
                "1 for each object in the registry that cannot be read and is not used, of many the first",
            ),
            registry_reachable: registered(
                all,
                "registry_reachable",
                "0 where the registry has not answered for the lease time, else 1",
            ),
            renewal_errors: registered(all, "renewal_errors", "Renewals of this cluster's Lease that failed"),
            registry,
        }
    }
}

impl Metrics {
    /// Working out what is to be done about what has happened took so long.
    pub fn reconciled(&self, duration: Duration) {
        self.reconcile_duration.observe(duration.as_secs_f64());
    }

    /// A round has failed for this reason.
    pub fn reconcile_failed(&self, reason: Reason) {
        self.reconcile_errors.get_or_create(&[("reason", reason.to_string())]).inc();
    }

    /// An object of this kind was written.
    pub fn applied(&self, kind: &str) {
        self.objects_applied.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// An object of this kind was deleted.
    pub fn pruned(&self, kind: &str) {
        self.objects_pruned.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// How many imports have which status of which condition.
    pub fn imports<'c>(&self, counts: impl IntoIterator<Item = ((&'c str, &'c str), u64)>) {
        self.imports.clear();
        for ((condition, status), count) in counts {
            let labels = [("condition", condition.to_owned()), ("status", status.to_owned())];
            self.imports.get_or_create(&labels).set(count);
        }
    }

    /// The bytes of the filter's configurations, one for each namespace.
    pub fn configs(&self, bytes: impl IntoIterator<Item = u64>) {
        let (largest, sum) = bytes.into_iter().fold((0, 0), |(largest, sum), bytes| (bytes.max(largest), sum + bytes));
        self.largest_config.set(largest);
        self.all_configs.set(sum);
    }

    /// Whether this replica leads.
    pub fn leader(&self, leads: bool) {
        self.leader.set(leads.into());
    }

    /// The watch of this kind had to start anew.
    pub fn watch_restarted(&self, kind: &str) {
        self.watch_restarts.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// The API server refused a request for this reason, or there was no answer.
    pub fn api_error(&self, reason: Reason) {
        self.api_errors.get_or_create(&[("reason", reason.to_string())]).inc();
    }

    /// What is known of the module.
    pub fn module(&self, status: &ModuleStatus) {
        self.module_ok.set(matches!(status, ModuleStatus::Ok).into());
    }

    /// How many other clusters show that they are alive, how many do not, and the gateways of how many are refused for it.
    pub fn clusters(&self, [live, stale, refused]: [u64; 3]) {
        for (state, count) in [("live", live), ("stale", stale), ("refused", refused)] {
            self.clusters.get_or_create(&[("state", state.to_owned())]).set(count);
        }
    }

    /// For how long another cluster has been stale, of several the longest.
    pub fn longest_stale(&self, duration: Duration) {
        self.longest_stale.set(duration.as_secs());
    }

    /// Of how many egress gateways the registry is not told everything.
    pub fn untold_gateways(&self, count: u64) {
        self.untold_gateways.set(count);
    }

    /// The kinds and names of objects in the registry that cannot be read.
    pub fn unreadable<'o>(&self, objects: impl Iterator<Item = (&'o str, &'o str)>) {
        self.unreadable_objects.clear();
        for (kind, name) in objects.take(MOST_NAMES) {
            let labels = [("kind", kind.to_owned()), ("name", name.to_owned())];
            self.unreadable_objects.get_or_create(&labels).set(1);
        }
    }

    /// Whether the registry can be reached.
    pub fn registry(&self, state: &RegistryState) {
        self.registry_reachable.set((*state == RegistryState::Reachable).into());
    }

    /// The Lease of this cluster was not renewed for this reason.
    pub fn renewal_failed(&self, reason: Reason) {
        self.renewal_errors.get_or_create(&[("reason", reason.to_string())]).inc();
    }

    /// All of them in `OpenMetrics`' text form.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// A metric without a unit.
fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// The same with a unit, in which its name ends.
fn measured<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str, unit: Unit) -> M {
    let metric = M::default();
    registry.register_with_unit(name, help, unit, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_prometheus_has_them() {
        let metrics = Metrics::default();
        metrics.reconciled(Duration::from_millis(30));
        metrics.reconcile_failed(Reason::Conflict);
        metrics.applied("HTTPRoute");
        metrics.applied("HTTPRoute");
        metrics.pruned("Service");
        metrics.imports([(("Accepted", "True"), 3)]);
        metrics.configs([100, 300, 200]);
        metrics.leader(true);
        metrics.watch_restarted("Service");
        metrics.api_error(Reason::TooManyRequests);
        metrics.module(&ModuleStatus::Ok);
        metrics.clusters([2, 3, 1]);
        metrics.untold_gateways(1);
        metrics.unreadable([("ExportedService", "c1.secure.payment")].into_iter());
        metrics.longest_stale(Duration::from_millis(45_900));
        metrics.registry(&RegistryState::Reachable);
        metrics.renewal_failed(Reason::Timeout);
        let text = metrics.encode().unwrap();
        for line in [
            r#"mcwan_reconcile_duration_seconds_bucket{le="0.05"} 1"#,
            "mcwan_reconcile_duration_seconds_count 1",
            r#"mcwan_reconcile_errors_total{reason="Conflict"} 1"#,
            r#"mcwan_objects_applied_total{kind="HTTPRoute"} 2"#,
            r#"mcwan_objects_pruned_total{kind="Service"} 1"#,
            r#"mcwan_imports{condition="Accepted",status="True"} 3"#,
            "mcwan_largest_config_bytes 300",
            "mcwan_all_configs_bytes 600",
            "mcwan_leader 1",
            r#"mcwan_watch_restarts_total{kind="Service"} 1"#,
            r#"mcwan_api_errors_total{reason="TooManyRequests"} 1"#,
            "mcwan_module_ok 1",
            r#"mcwan_clusters{state="live"} 2"#,
            r#"mcwan_clusters{state="stale"} 3"#,
            r#"mcwan_clusters{state="refused"} 1"#,
            "mcwan_longest_stale_seconds 45",
            "mcwan_untold_gateways 1",
            r#"mcwan_unreadable_objects{kind="ExportedService",name="c1.secure.payment"} 1"#,
            "mcwan_registry_reachable 1",
            r#"mcwan_renewal_errors_total{reason="Timeout"} 1"#,
        ] {
            assert!(text.lines().any(|present| present == line), "want {line}, have\n{text}");
        }
    }
}
