//! Where it is told which tiers this cluster and each other one may use.

use serde_json::Value;

use crate::api::TIER_NAMESPACE;
use crate::emit::object::{Kind, Object};
use crate::translate::Exports;

use super::Settings;
use super::draft::Draft;

/// A `ClusterConnection` for each other cluster, named after it: all that it says is status. None without a name of this
/// cluster, which then has no end of its own.
pub fn connection_objects(exports: &Exports, settings: &Settings) -> Vec<Object> {
    let others = exports.connections().filter(|_| settings.has_connections && settings.cluster.is_some());
    others.map(|(other, _)| Draft::new(Kind::ClusterConnection, TIER_NAMESPACE, other).with(Value::Null)).collect()
}
