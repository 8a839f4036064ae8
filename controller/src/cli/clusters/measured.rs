//! What this cluster's gateways measure of the tiers to others, as routers show it.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mcwan_core::api::{MeasuredTier, WanPolicySpec};
use mcwan_policy::sla::Detection;

use super::view::PairView;
use crate::cli::age;

/// Bytes of a probe and its answer on the wire, with the headers of TCP and IP and their acknowledgements.
const PROBE_BYTES: u64 = 425;
/// Seconds of 30 days.
const MONTH: u64 = 30 * 24 * 60 * 60;

const HEAD: [&str; 12] = [
    "MEASURED",
    "TO",
    "LEVEL",
    "REASON",
    "RTT",
    "JITTER",
    "LOSS",
    "SINCE",
    "PODS",
    "PROMISE",
    "FOUND OUT AFTER",
    "A MONTH",
];

/// A row for each tier that is measured to a cluster, below the head; nothing where none is. `tier`: what a tier promises.
pub(super) fn table<'p>(
    own: &str,
    pairs: impl IntoIterator<Item = &'p PairView>,
    tier: impl Fn(&str) -> Option<&'p WanPolicySpec>,
    now: &Time,
) -> Vec<Vec<String>> {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for pair in pairs {
        let Some(other) = pair.clusters.iter().find(|name| *name != own) else { continue };
        for shown in &pair.status.tiers {
            if let Some(measured) = &shown.measured {
                rows.push(row(&shown.name, other, measured, tier(&shown.name), now));
            }
        }
    }
    if rows.len() > 1 { rows } else { Vec::new() }
}

fn row(tier: &str, other: &str, measured: &MeasuredTier, spec: Option<&WanPolicySpec>, now: &Time) -> Vec<String> {
    let MeasuredTier { level, reason, since, latency_ms, jitter_ms, loss_percent, http_status, pods, pods_out } =
        measured;
    let figure =
        |value: &Option<String>, unit: &str| value.as_ref().map_or_else(dash, |value| format!("{value}{unit}"));
    // The other cluster's gateway answers, but does not let us in.
    let is_refused = *http_status == Some(403);
    vec![
        tier.to_owned(),
        other.to_owned(),
        level.to_string(),
        if is_refused { format!("{reason} (403)") } else { reason.clone() },
        figure(latency_ms, "ms"),
        figure(jitter_ms, "ms"),
        figure(loss_percent, "%"),
        age::age(since, now),
        if *pods_out > 0 { format!("{pods} ({pods_out} out)") } else { pods.to_string() },
        spec.map_or_else(dash, promise),
        spec.map_or_else(dash, |spec| detection(&spec.detection())),
        spec.map_or_else(dash, |spec| bytes(bytes_a_month(spec, *pods))),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

/// The bounds in the order of the figures.
fn promise(spec: &WanPolicySpec) -> String {
    let sla = spec.sla.clone().unwrap_or_default();
    let bounds = [
        sla.latency_ms.map(|bound| format!("{bound}ms")),
        sla.jitter_ms.map(|bound| format!("{bound}ms")),
        sla.loss_percent.map(|bound| format!("{bound}%")),
    ];
    bounds.map(|bound| bound.unwrap_or_else(dash)).join("/")
}

/// How long it takes that each is found not to be kept, and that nothing answers.
fn detection(Detection { down, latency, jitter, loss }: &Detection) -> String {
    let times = [*latency, *jitter, *loss].map(|time| time.map_or_else(dash, seconds));
    format!("{}, down {}", times.join("/"), seconds(*down))
}

fn seconds(time: Duration) -> String {
    let tenths = time.as_millis().div_ceil(100);
    if tenths < 100 { format!("{}.{}s", tenths / 10, tenths % 10) } else { format!("{}s", tenths.div_ceil(10)) }
}

fn bytes_a_month(spec: &WanPolicySpec, pods: u32) -> u64 {
    let interval = u64::from(spec.probe.unwrap_or_default().interval_ms()).max(1);
    MONTH * 1_000 / interval * PROBE_BYTES * u64::from(pods)
}

/// In units of the metric system, as tariffs have them.
fn bytes(bytes: u64) -> String {
    let megabytes = bytes / 1_000_000;
    if megabytes < 1_000 {
        format!("{megabytes}MB")
    } else {
        format!("{}.{}GB", megabytes / 1_000, megabytes % 1_000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use mcwan_core::api::{ClusterConnectionStatus, ConnectionTier, MeasuredLevel};
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn mk_pair(measured: Option<MeasuredTier>) -> PairView {
        let tier = ConnectionTier { name: "high".to_owned(), port: None, permitted: true, reason: None, measured };
        let status = ClusterConnectionStatus { tiers: vec![tier], ..ClusterConnectionStatus::default() };
        PairView { clusters: ["a", "b"].map(str::to_owned), status, why_none: None }
    }

    #[test]
    fn what_is_measured_is_shown_as_routers_do() {
        let measured = MeasuredTier {
            level: MeasuredLevel::Out,
            reason: "Latency".to_owned(),
            since: at(0),
            latency_ms: Some("103.2".to_owned()),
            jitter_ms: None,
            loss_percent: Some("0.50".to_owned()),
            http_status: Some(403),
            pods: 2,
            pods_out: 1,
        };
        let spec = json!({"port": 1, "sla": {"latencyMs": 50, "lossPercent": "0.5"}, "probe": {"interval": "200ms"}});
        let spec: WanPolicySpec = serde_json::from_value(spec).unwrap();
        let pair = mk_pair(Some(measured));
        for (own, other) in [("a", "b"), ("b", "a")] {
            let rows = table(own, [&pair], |_| Some(&spec), &at(180));
            let row = [
                "high",
                other,
                "Out",
                "Latency (403)",
                "103.2ms",
                "-",
                "0.50%",
                "3m",
                "2 (1 out)",
                "50ms/-/0.5%",
                "1.4s/-/64s, down 1.3s",
                "11.0GB",
            ];
            assert_eq!(rows.last().unwrap(), &row);
        }
        let rows = table("a", [&pair], |_| None, &at(180));
        assert_eq!(rows.last().unwrap()[9..], ["-", "-", "-"], "a tier that is gone");
        assert_eq!(table("a", [&mk_pair(None)], |_| Some(&spec), &at(180)), Vec::<Vec<String>>::new());
    }

    #[test]
    fn bytes_are_in_units_of_tariffs() {
        assert_eq!([999_999, 1_000_000, 999_999_999, 1_101_600_000].map(bytes), ["0MB", "1MB", "999MB", "1.1GB"]);
    }
}
