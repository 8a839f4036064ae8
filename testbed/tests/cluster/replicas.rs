//! What replicas of the controller agree on, on a real API server: who leads, and the steering key.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use mcwan::leader::{Candidate, Leader, Timing};
use mcwan::steering_secret::{self, SECRET, SteeringSecretError};
use mcwan_testbed::cluster::TestCluster;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::shared::on_shared_cluster;

const NAMESPACE: &str = "default";
/// How long anything may take, on a machine that does much else.
const SOON: Duration = Duration::from_mins(1);
const LEASE: Duration = Duration::from_secs(3);

/// Stands for the lease of this name. A lease of 3 seconds, so that the tests need not wait for 15.
fn stand(client: &Client, lease: &str, identity: &str) -> Result<Leader> {
    let timing = Timing::new(LEASE, Duration::from_secs(2), Duration::from_millis(200))?;
    let candidate =
        Candidate { namespace: NAMESPACE.to_owned(), lease: lease.to_owned(), identity: identity.to_owned(), timing };
    Ok(Leader::run(client.clone(), candidate, std::future::ready(())))
}

async fn until_leading(leader: &Leader, leads: bool) -> Result<()> {
    timeout(SOON, leader.leading().wait_for(|leading| *leading == leads)).await.context("in vain")??;
    Ok(())
}

async fn holder(client: &Client, lease: &str) -> Result<(Option<String>, i32)> {
    let api: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let spec = api.get(lease).await?.spec.context("a spec")?;
    Ok((spec.holder_identity, spec.lease_transitions.context("a count")?))
}

async fn patch_lease(client: &Client, lease: &str, patch: &Value) -> Result<()> {
    let api: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    api.patch(lease, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

#[tokio::test]
async fn one_leads_and_the_next_takes_over() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let client = cluster.client();
    released_at_once(&client).await?;
    taken_over_once_it_has_run_out(&client).await?;
    a_holder_with_a_wrong_clock(&client).await?;
    robbed(&client).await?;
    the_api_server_gone(cluster).await
}

async fn released_at_once(client: &Client) -> Result<()> {
    let first = stand(client, "released", "first")?;
    until_leading(&first, true).await?;
    let second = stand(client, "released", "second")?;
    assert_eq!(holder(client, "released").await?, (Some("first".to_owned()), 1));
    ensure!(!*second.leading().borrow(), "two lead");
    first.release().await;
    until_leading(&second, true).await?;
    assert_eq!(holder(client, "released").await?, (Some("second".to_owned()), 2));
    second.release().await;
    assert_eq!(holder(client, "released").await?.0, None);
    Ok(())
}

/// As it is after `kill -9`: nobody renews, nobody releases.
async fn taken_over_once_it_has_run_out(client: &Client) -> Result<()> {
    let first = stand(client, "killed", "first")?;
    until_leading(&first, true).await?;
    first.release().await;
    patch_lease(client, "killed", &json!({"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 3}})).await?;
    let start = Instant::now();
    let second = stand(client, "killed", "second")?;
    until_leading(&second, true).await?;
    ensure!(start.elapsed() >= LEASE, "taken after {:?}", start.elapsed());
    assert_eq!(holder(client, "killed").await?, (Some("second".to_owned()), 2));
    second.release().await;
    Ok(())
}

/// What counts is that the lease changes, not what time it says.
async fn a_holder_with_a_wrong_clock(client: &Client) -> Result<()> {
    let first = stand(client, "clock", "first")?;
    until_leading(&first, true).await?;
    first.release().await;
    let at = |time: &str| json!({"spec": {"holderIdentity": "late", "leaseDurationSeconds": 3, "renewTime": time}});
    patch_lease(client, "clock", &at("2001-01-01T00:00:00.000000Z")).await?;
    let second = stand(client, "clock", "second")?;
    let mut renewals = tokio::time::interval(Duration::from_millis(500));
    for minute in 10..25 {
        renewals.tick().await;
        patch_lease(client, "clock", &at(&format!("2001-01-01T00:{minute}:00.000000Z"))).await?;
        ensure!(!*second.leading().borrow(), "taken from a living holder");
    }
    until_leading(&second, true).await?;
    second.release().await;
    Ok(())
}

/// Somebody else's name in the lease: the leader stops at his next look.
async fn robbed(client: &Client) -> Result<()> {
    let first = stand(client, "robbed", "first")?;
    until_leading(&first, true).await?;
    patch_lease(client, "robbed", &json!({"spec": {"holderIdentity": "robber"}})).await?;
    until_leading(&first, false).await?;
    assert_eq!(holder(client, "robbed").await?.0.as_deref(), Some("robber"));
    // It stands again, and leads once the robber has not been seen to live.
    until_leading(&first, true).await?;
    first.release().await;
    Ok(())
}

/// Who cannot renew stops, and stands again.
async fn the_api_server_gone(mut cluster: TestCluster) -> Result<()> {
    let first = stand(&cluster.client(), "gone", "first")?;
    until_leading(&first, true).await?;
    cluster.stop_api_server();
    until_leading(&first, false).await?;
    cluster.start_api_server().await?;
    until_leading(&first, true).await?;
    first.release().await;
    Ok(())
}

#[test]
fn all_have_the_steering_key_of_whoever_was_first() -> Result<()> {
    on_shared_cluster(async |cluster| {
        let client = cluster.client();
        let read = || steering_secret::read_or_create(client.clone(), NAMESPACE);
        let (a, b, c) = tokio::try_join!(read(), read(), read())?;
        let digests = [a, b, c, read().await?].map(|key| key.digest("secure", "payment", "high"));
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");

        let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
        let version = async || anyhow::Ok(secrets.get(SECRET).await?.metadata.resource_version);
        let before = version().await?;
        read().await?;
        assert_eq!(version().await?, before, "it is read, never written");

        let bad = json!({"data": {"key": null}, "stringData": {"other": "0123456789abcdef"}});
        secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(bad)).await?;
        let before = version().await?;
        let error = read().await.err().context("an error")?;
        assert!(matches!(error, SteeringSecretError::Content { source: None, .. }), "{error:?}");
        assert_eq!(version().await?, before, "what people wrote is left to them");

        secrets.delete(SECRET, &DeleteParams::default()).await?;
        assert_ne!(read().await?.digest("secure", "payment", "high"), digests[0], "a new one");
        Ok(())
    })
}
