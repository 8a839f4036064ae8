//! Clusters that are not of one version.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

use super::wan::Wan;
use crate::objects::mk;
use crate::scene::PATIENCE;

const REGISTRY: &str = "mc-wan-registry";
const PAYMENT: &str = "cluster-1.secure.payment";
const SLICE: &str = "EndpointSlice mc-wan/payment-secure-high.cluster-1.ipv4";

/// Expects that the first cluster exports `payment` and the second imports it, and that the first one's controller is
/// stopped. The first is upgraded, after the registry: as its new controller, the test says what the second does not know.
/// Gives the second's controller, which is started anew: an API server goes on with watches as they were before their kind
/// got fields.
pub(crate) async fn one_knows_more_than_the_other(wan: &Wan, two: Controller) -> Result<Controller> {
    let id = |kind: &str, name: &str| format!("{kind} {REGISTRY}/{name}");
    let later = json!({"spec": {"addedLater": true}});
    for (kind, plural, name) in
        [("ExportedService", "exportedservices", PAYMENT), ("WANCluster", "wanclusters", "cluster-1")]
    {
        let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/addedLater";
        let patch = json!([{"op": "add", "path": field, "value": {"type": "boolean"}}]).to_string();
        let crd = format!("{plural}.mc-wan.l7mp.io");
        wan.one.cluster.kubectl(&["patch", "crd", &crd, "--type=json", "--patch", &patch]).await?;
        // It takes a moment until it holds.
        until(PATIENCE, "a field of a later version is taken", async || {
            Ok(wan.one.put(&mk(kind, REGISTRY, name, later.clone())).await.is_ok())
        })
        .await?;
    }
    two.stop().await?;
    let two = wan.two.replica("a").await?;
    wan.one.edit(&id("ExportedService", PAYMENT), &json!({"spec": {"gateways": ["10.40.0.8"]}})).await?;
    wan.two.until_field(SLICE, "/endpoints/0/addresses", &json!(["10.40.0.8"])).await?;
    for id in [id("ExportedService", PAYMENT), id("WANCluster", "cluster-1")] {
        let said = wan.one.get(&id).await?.with_context(|| format!("no {id}"))?;
        ensure!(said.pointer("/spec/addedLater") == Some(&Value::Bool(true)), "the field is still there: {said}");
    }
    Ok(two)
}
