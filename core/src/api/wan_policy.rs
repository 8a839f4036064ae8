//! `WANPolicy`: one class of service that the WAN offers.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use mcwan_policy::limits::PROBE_INTERVAL_MS;
use mcwan_policy::sla::{Detection, Loss, Promise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, cel, limits, pattern};

/// From one probe to the next, where nothing is said.
const DEFAULT_INTERVAL_MS: u32 = 1_000;

/// One tier of the WAN, such as a fast and dear tunnel. Its name is the tier's name.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "WANPolicy",
    root = "WanPolicy",
    plural = "wanpolicies",
    status = "WanPolicyStatus",
    derive = "PartialEq",
    category = "mcwan",
    doc = "A tier of the WAN: one class of service, which the WAN tells from the others by the destination port.",
    validation = cel::NAMED_BY_LABEL,
    printcolumn(name = "Port", type_ = "integer", json_path = ".spec.port"),
    printcolumn(name = "Tunnel", type_ = "string", json_path = ".spec.tunnel"),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].reason"#,
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].message"#,
        priority = 1
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WanPolicySpec {
    /// The port that requests of this tier cross the WAN on: unique among tiers, the same in every cluster.
    pub port: NonZeroU16,
    /// The WAN's own name for the tunnel. Informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// What the tunnel is made by, such as `ipsec`: policies choose tiers by it. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = pattern::LABEL))]
    pub cable_driver: Option<String>,
    /// What the WAN promises. Rules that go by it leave the tier while it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Sla>,
    /// How the tier is measured where rules go by what it promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

/// What the WAN promises for a tier. What is not promised is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sla {
    /// The longest round trip between gateways, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u32>,
    /// Jitter in milliseconds: the greatest mean difference of neighbouring round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<u32>,
    /// The greatest share of packets lost each way, in percent, as a decimal string such as `"0.5"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_percent: Option<LossPercent>,
}

/// How a tier is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::interval_of_probes()]))]
pub struct Probe {
    /// From one probe of a path to the next, from 200ms to 10s. Absent: 1s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

/// What the controller says of a `WANPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WanPolicyStatus {
    /// `Accepted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A share of packets in percent: a decimal number from 0 to 100, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)$"))]
pub struct LossPercent(String);

/// A text that is no [`LossPercent`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a decimal number from 0 to 100, such as `0.5`")]
pub struct LossPercentError(String);

impl Probe {
    /// From one probe of a path to the next, in milliseconds; of what an older definition let through, the nearest that may
    /// be, as a filter refuses the whole configuration for it.
    pub fn interval_ms(self) -> u32 {
        let asked =
            self.interval.map_or(DEFAULT_INTERVAL_MS, |interval| interval.as_millis().try_into().unwrap_or(u32::MAX));
        asked.clamp(*PROBE_INTERVAL_MS.start(), *PROBE_INTERVAL_MS.end())
    }
}

impl Sla {
    /// The same for those who judge.
    pub fn promise(&self) -> Promise {
        let milliseconds = |bound: u32| std::time::Duration::from_millis(bound.into());
        let loss = self.loss_percent.as_ref().map(LossPercent::parts_per_million);
        Promise {
            latency: self.latency_ms.map(milliseconds),
            jitter: self.jitter_ms.map(milliseconds),
            loss: loss.and_then(Loss::from_parts_per_million),
        }
    }
}

impl WanPolicySpec {
    /// How long it takes to find out that the promise is not kept.
    pub fn detection(&self) -> Detection {
        let promise = self.sla.as_ref().map(Sla::promise).unwrap_or_default();
        let interval = self.probe.unwrap_or_default().interval_ms();
        promise.detection(std::time::Duration::from_millis(interval.into()))
    }
}

impl LossPercent {
    /// How many of a million packets; rounded up, so that nothing is asked for that was not promised.
    pub fn parts_per_million(&self) -> u32 {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let (kept, finer) = fraction.split_at(fraction.len().min(4));
        let parts = format!("{whole}{kept:0<4}").parse().unwrap_or(u32::MAX);
        parts + u32::from(finer.bytes().any(|digit| digit != b'0'))
    }
}

impl FromStr for LossPercent {
    type Err = LossPercentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for LossPercent {
    type Error = LossPercentError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let at_most_100 = whole.len() <= 2 || (whole == "100" && fraction.bytes().all(|byte| byte == b'0'));
        if digits(whole) && digits(fraction) && at_most_100 { Ok(Self(text)) } else { Err(LossPercentError(text)) }
    }
}

impl From<LossPercent> for String {
    fn from(percent: LossPercent) -> Self {
        percent.0
    }
}

impl fmt::Display for LossPercent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_comes_in_time() {
        let table = [(None, 1_000), (Some("200ms"), 200), (Some("1ms"), 200), (Some("99999h"), 10_000)];
        for (interval, expected) in table {
            let probe = Probe { interval: interval.map(|interval| interval.parse().unwrap()) };
            assert_eq!(probe.interval_ms(), expected, "{interval:?}");
        }
    }

    #[test]
    fn a_loss_is_so_many_of_a_million() {
        let table = [
            ("0", 0, "none"),
            ("0.5", 5_000, "a fraction"),
            ("12.3456", 123_456, "as fine as it is counted"),
            ("0.00001", 1, "finer: not less than promised"),
            ("0.000100", 1, "finer digits that say nothing"),
            ("99.99999", 1_000_000, "all but nothing"),
            ("100.0", 1_000_000, "all"),
        ];
        for (text, parts, message) in table {
            assert_eq!(LossPercent(text.to_owned()).parts_per_million(), parts, "{message}: {text}");
        }
    }

    #[test]
    fn a_loss_is_a_decimal_number_from_0_to_100() {
        let table = [
            ("0", true, "zero"),
            ("0.5", true, "a fraction"),
            ("99.999", true, "just below the top"),
            ("100", true, "the top"),
            ("100.00", true, "the top with a fraction of zero"),
            ("100.01", false, "above the top"),
            ("101", false, "above the top, whole"),
            ("", false, "nothing"),
            (".5", false, "no whole part"),
            ("5.", false, "no fraction after the point"),
            ("-1", false, "negative"),
            ("1e1", false, "an exponent"),
            ("0,5", false, "a comma"),
            ("0.5%", false, "a unit"),
        ];
        for (text, sound, message) in table {
            let parsed = LossPercent::from_str(text);
            assert_eq!(parsed.is_ok(), sound, "{message}: {text}");
            if let Ok(percent) = parsed {
                assert_eq!(percent.to_string(), text, "{message}: it prints as it was written");
            }
        }
    }
}
