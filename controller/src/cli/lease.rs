//! Whether a Lease is renewed.

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A Lease that is older than this many times its duration is not renewed any more: clocks differ.
const PATIENCE: i64 = 4;

/// Whether its holder still renews a Lease.
pub(super) fn is_renewed(spec: &LeaseSpec, now: &Time) -> bool {
    let patience = PATIENCE * i64::from(spec.lease_duration_seconds.unwrap_or_default());
    spec.renew_time.as_ref().is_some_and(|renewed| now.0.as_second() - renewed.0.as_second() <= patience)
}
