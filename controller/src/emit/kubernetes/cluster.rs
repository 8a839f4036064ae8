//! What there is once in a cluster.

use serde_json::json;

use crate::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE, WanClusterSpec};
use crate::emit::object::{Kind, Object};

use super::draft::Draft;
use super::{Settings, names};

/// What the registry is told of this cluster; none without a name.
pub fn cluster_object(spec: &WanClusterSpec, settings: &Settings) -> Option<Object> {
    let cluster = settings.cluster.as_ref()?;
    let draft = Draft::new(Kind::WanCluster, REGISTRY_NAMESPACE, cluster).of_cluster(cluster);
    Some(draft.with(json!({"spec": spec})))
}

/// What all imports share: requests to tier services keep the version of HTTP that they came with. Else HTTP/2, and
/// with it gRPC, would become HTTP/1.1.
pub fn common_objects() -> Vec<Object> {
    let rule = Draft::new(Kind::DestinationRule, TIER_NAMESPACE, names::TIER_RULE).with(json!({
        "spec": {
            "host": format!("*.{TIER_NAMESPACE}.svc.cluster.local"),
            "trafficPolicy": {"connectionPool": {"http": {"useClientProtocol": true}}},
        },
    }));
    vec![rule]
}
