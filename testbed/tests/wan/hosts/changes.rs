//! Under load `Route`s come, change and go, and the others of their namespace lose nothing.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::client::Response;
use mcwan_testbed::load::{Load, LoadAnswer, Plan, statuses};
use serde_json::{Value, json};

use super::{LOCAL, NOBODYS, ROUTER, SAFE, TIER, mk_route, mk_safe, mk_tier_service, until_each};
use crate::audit::MODERATE;
use crate::objects::{mk_echo, mk_file, mk_service};
use crate::protocols::services::NAMESPACE;
use crate::scene::{HIGH, LOW, Scene, mk_request};
use crate::tiers::ports_are_due;

/// The host of the Route that changes.
const MOVING: &str = "moving.example.com";
/// Its paths, and that of those that stay: on the WAN, nothing else tells them apart.
const FIRST: &str = "/first";
const SECOND: &str = "/second";
const STAYS: &str = "/stays";

/// Of the Routes that come, one brings TLS to the namespace and stays, the other a target.
pub(super) async fn the_others_lose_nothing(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    cluster.apply(&mk_file(&[mk_echo(NAMESPACE, "fresh", 1), mk_service(NAMESPACE, "fresh")])).await?;
    cluster.service_address(NAMESPACE, "fresh", 8080).await?;
    let address = ["get", "service", ROUTER, "-n", NAMESPACE, "-o", "jsonpath={.spec.clusterIP}"];
    let address = cluster.kubectl(&address).await?.parse().context("the Service has an address")?;
    let mut to = cluster.endpoints(NAMESPACE, ROUTER, 80).await?;
    let called = SocketAddr::new(address, 80);
    let answers = async || Ok(scene.client.send(called, &mk_request("GET", LOCAL, STAYS)).await.is_ok());
    scene.wan.until("the Service of the Routes answers", answers).await?;
    to.push(called);
    let requests = [LOCAL, TIER].map(|host| mk_request("GET", host, STAYS)).to_vec();
    scene.wan.record();
    let load = Load::start(scene.client.namespace(), Plan { requests, to, rate: MODERATE.rate }).await?;
    routes_change(scene).await?;
    judge(scene, &load.stop().await?)
}

async fn routes_change(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    cluster.apply(&mk_file(&mk_safe())).await?;
    until_each(scene, NAMESPACE, SAFE, "/", |answer| answer.status == 302).await?;
    let is_fresh = |answer: &Response| answer.seen().is_some_and(|seen| seen.authority == MOVING);
    for path in [FIRST, SECOND] {
        move_to(scene, &json!({"path": path})).await?;
        until_each(scene, NAMESPACE, MOVING, path, is_fresh).await?;
    }
    until_each(scene, NAMESPACE, MOVING, FIRST, |answer| answer.status == 503).await?;
    let over_tier = json!([{"kind": "Service", "name": mk_tier_service(LOW.0)}]);
    let fresh = json!({"kind": "Service", "name": "fresh", "weight": 0});
    let port = json!({"targetPort": "http"});
    move_to(scene, &json!({"path": SECOND, "to": fresh, "alternateBackends": over_tier, "port": port})).await?;
    let crosses = |answer: &Response| answer.seen().is_some_and(|seen| seen.authority != MOVING);
    until_each(scene, NAMESPACE, MOVING, SECOND, crosses).await?;
    cluster.kubectl(&["delete", "route.route.openshift.io", MOVING, "-n", NAMESPACE]).await?;
    until_each(scene, NAMESPACE, MOVING, SECOND, |answer| answer.status == NOBODYS).await
}

/// Makes or changes the Route that leads to the new Service.
async fn move_to(scene: &Scene, more: &Value) -> Result<()> {
    scene.wan.cluster(2).apply(&mk_file(&mk_route(NAMESPACE, MOVING, "fresh", more))).await
}

/// Each request to a Route that stays was answered by whom it is for, and crossed by its own tier if at all.
fn judge(scene: &Scene, answers: &[LoadAnswer]) -> Result<()> {
    let over_tier = |answer: &LoadAnswer| answer.request == 1;
    // Over a tier upstreams see the import's own host.
    let is_right = |answer: &&LoadAnswer| {
        let seen = answer.outcome.as_ref().ok().and_then(Response::seen);
        seen.is_some_and(|seen| (seen.authority != LOCAL) == over_tier(answer))
    };
    eprintln!("measured: {} requests while Routes change: {:?}", answers.len(), statuses(answers));
    let lost: Vec<_> = answers.iter().filter(|answer| !is_right(answer)).collect();
    let since = |answer: &&&LoadAnswer| answers.first().map(|first| answer.sent.duration_since(first.sent));
    let when: Vec<_> = lost.iter().filter_map(|answer| since(&answer)).collect();
    ensure!(
        lost.is_empty(),
        "{} of {} are lost, {when:?} after the first, such as {:?}",
        lost.len(),
        answers.len(),
        lost.first()
    );
    let due = [(STAYS, HIGH.1), (SECOND, LOW.1)];
    let due = |path: &str| due.iter().find(|(known, _)| *known == path).map(|(_, port)| *port);
    let crossed = ports_are_due(&scene.wan.recorded(), 1, |seen| due(&seen.path))?;
    let stayed = answers.iter().filter(|answer| over_tier(answer)).count();
    ensure!(crossed > stayed, "{crossed} requests crossed, {stayed} of them by the Route that stays");
    Ok(())
}
