//! How a rule goes by the measured quality of tiers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{limits, pattern};

/// Lets a rule's requests leave its tiers for others while these do not keep their promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleSla {
    /// The names of the `WANPolicy`s of the tiers that requests may take in place of a backend's own, in the order of
    /// preference. A fallback has the filters and timeouts of the backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::FALLBACKS), inner(length(max = 63), regex(pattern = pattern::LABEL)))]
    pub fallbacks: Vec<String>,
    /// What happens to a request while none of its tiers keeps its promise.
    #[serde(default)]
    pub when_none_in_sla: WhenNoneInSla,
}

/// What happens to a request while none of its tiers keeps its promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenNoneInSla {
    /// It takes the first of them that answers at all, else the backend's own.
    #[default]
    Preferred,
    /// It is answered with 503.
    Refuse,
}
