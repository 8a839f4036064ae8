//! `WANPolicy`: one class of service that the WAN offers.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{cel, limits, pattern};

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
    /// What the WAN promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Sla>,
}

/// What the WAN promises for a tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sla {
    /// Latency in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u32>,
    /// Jitter in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<u32>,
    /// Share of packets lost, in percent, as a decimal string such as `"0.5"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_percent: Option<LossPercent>,
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
