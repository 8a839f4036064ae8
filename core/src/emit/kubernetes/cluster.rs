//! What there is once in a cluster.

use serde_json::json;

use crate::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE, WanClusterSpec};
use crate::emit::object::{Kind, Object};

use super::draft::Draft;
use super::{Settings, names};

/// What `istioctl analyze` is not to say of the rule: that its host is no service's. Istio matches hosts with a wildcard
/// against services, the analyzer only against `ServiceEntry`s.
const SUPPRESSION: (&str, &str) = ("galley.istio.io/analyze-suppress", "IST0174");

/// What the registry is told of this cluster; none without a name.
pub fn cluster_object(spec: &WanClusterSpec, settings: &Settings) -> Option<Object> {
    let spec = WanClusterSpec { network: settings.network.clone(), ..spec.clone() };
    Some(cluster_object_of(settings.cluster.as_ref()?, &spec))
}

/// What the registry is told of a cluster of this name.
pub fn cluster_object_of(cluster: &str, spec: &WanClusterSpec) -> Object {
    Draft::new(Kind::WanCluster, REGISTRY_NAMESPACE, cluster).of_cluster(cluster).with_spec(json!(spec))
}

/// What all imports share: requests to tier services keep the version of HTTP that they came with. Else HTTP/2, and
/// with it gRPC, would become HTTP/1.1.
pub fn common_objects() -> Vec<Object> {
    let draft = Draft::new(Kind::DestinationRule, TIER_NAMESPACE, names::TIER_RULE);
    let rule = draft.annotation(SUPPRESSION.0, SUPPRESSION.1).with(json!({
        "spec": {
            "host": format!("*.{TIER_NAMESPACE}.svc.cluster.local"),
            "trafficPolicy": {"connectionPool": {"http": {"useClientProtocol": true}}},
        },
    }));
    vec![rule]
}
