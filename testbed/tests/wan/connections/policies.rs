//! Policies, as an administrator of the registry writes them, and the labels of clusters.

use anyhow::Result;
use mcwan_testbed::wan::TestWan;
use serde_json::{Value, json};

use super::permitted::NEAR;
use crate::objects::mk_file;

/// Where policies are, in the cluster that holds the registry.
const REGISTRY: &str = "mc-wan-registry";

/// The policies: that of pairs which no other matches, and those between the cloud and elsewhere, and between the consumer
/// and the cloud.
pub(crate) const DEFAULT: &str = "default";
pub(crate) const TO_CLOUD: &str = "on-prem-to-cloud";
pub(crate) const OF_CONSUMER: &str = "consumer-to-cloud";

/// A policy.
pub(crate) fn mk_policy(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ClusterConnectionPolicy",
        "metadata": {"name": name, "namespace": REGISTRY}, "spec": spec})
}

/// The policy between what is in the cloud and what is not.
pub(crate) fn mk_to_cloud() -> Value {
    let elsewhere = json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["cloud"]}]});
    let cloud = json!({"matchLabels": {"env": "cloud"}});
    let spec = json!({"leftClusterSelector": cloud, "rightClusterSelector": elsewhere, "cableDriver": "ipsec"});
    mk_policy(TO_CLOUD, &spec)
}

/// A policy between the consumer and the cluster in the cloud, by their names.
pub(crate) fn mk_of_consumer(tiers: &[&str]) -> Value {
    let name = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
    let [left, right] = ["cluster-2", "cluster-3"].map(name);
    mk_policy(OF_CONSUMER, &json!({"leftClusterSelector": left, "rightClusterSelector": right, "tiers": tiers}))
}

/// Writes policies, one after the other.
pub(crate) async fn write(wan: &TestWan, policies: &[Value]) -> Result<()> {
    wan.cluster(NEAR).apply(&mk_file(policies)).await
}

/// Takes all of them away.
pub(crate) async fn take_away(wan: &TestWan) -> Result<()> {
    let delete = ["delete", "clusterconnectionpolicies", "--all", "--namespace", REGISTRY];
    wan.cluster(NEAR).kubectl(&delete).await.map(drop)
}

/// Labels a cluster, once it has said that it is there.
pub(crate) async fn label(wan: &TestWan, cluster: u8, label: &str) -> Result<()> {
    let (holder, object) = (wan.cluster(NEAR), format!("wancluster/{}", wan.cluster(cluster).id()));
    wan.until(&format!("{object} is there"), async || {
        Ok(holder.kubectl(&["get", &object, "--namespace", REGISTRY]).await.is_ok())
    })
    .await?;
    holder.kubectl(&["label", &object, label, "--overwrite", "--namespace", REGISTRY]).await.map(drop)
}
