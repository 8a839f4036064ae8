//! A client gets the tier that the rules give, or none: whatever it sends, and whatever becomes of the filter.

mod rows;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures_util::future::join_all;
use kube::ResourceExt;
use mcwan_testbed::wan::play::Play;
use mcwan_testbed::wan::{Impairment, TestWan, Ways};

use crate::attempt::Due;
use crate::scene::mk_request;
use rows::{Secrets, opening_rows, rows};

/// Where clients send requests to.
const PORT: u16 = 8080;

/// Where the OCI registry listens.
const OCI_PORT: u16 = 5000;

/// What makes a module take its time.
const SLOW: Duration = Duration::from_millis(500);

/// The rules of the payment example are in force. What a client may send changes nothing of them.
pub(crate) async fn no_client_steers(wan: &TestWan, play: &Play) -> Result<()> {
    let secrets = Secrets::read(wan).await?;
    let gateways = play.gateways(wan).await?;
    ensure!(gateways.len() == 2, "the egress gateway is at {gateways:?}");
    for gateway in gateways {
        for row in rows(gateway, Some(&secrets)).into_iter().chain(opening_rows(gateway, &secrets)) {
            row.must_hold(wan, play).await?;
        }
    }
    Ok(())
}

/// The filter's object, such as `wasmplugin/mcwan`, is deleted by hand: the controller makes it again, and meanwhile
/// requests go where the rules say or are refused.
pub(crate) async fn a_deleted_filter_comes_back(wan: &TestWan, play: &Play, filter: &str) -> Result<()> {
    let (before, secrets) = (uid(wan, filter).await?, Secrets::read(wan).await?);
    wan.cluster(2).kubectl(&["delete", filter, "--namespace", "secure", "--wait=false"]).await?;
    let mut refused = 0_u32;
    wan.until("the filter is there again and works", async || {
        refused += hold_at_most(wan, play, Some(&secrets)).await?;
        Ok(uid(wan, filter).await.is_ok_and(|uid| uid != before) && hold(wan, play, Some(&secrets)).await?)
    })
    .await?;
    eprintln!("measured: a deleted {filter} came back, {refused} requests refused meanwhile");
    Ok(())
}

/// The filter is deleted and nobody makes it again: everything is refused. The routes are there, but only the filter
/// knows what opens them.
pub(crate) async fn without_a_filter_everything_is_refused(wan: &mut TestWan, play: &Play, filter: &str) -> Result<()> {
    let secrets = Secrets::read(wan).await?;
    wan.cluster_mut(2).kill_controllers();
    wan.cluster(2).kubectl(&["delete", filter, "--namespace", "secure"]).await?;
    wan.until("gateways have no filter", async || {
        hold_at_most(wan, play, Some(&secrets)).await?;
        Ok(join_all(play.gateways(wan).await?.into_iter().map(|gateway| passes_unsteered(play, gateway))).await
            == [true; 2])
    })
    .await?;
    for gateway in play.gateways(wan).await? {
        for row in rows(gateway, Some(&secrets)) {
            let attempt = row.attempt(wan, play).await?;
            ensure!(attempt.is_refused(), "without a filter, {}: {attempt:?}", row.what);
        }
        secrets.opening(gateway).must_hold(wan, play).await?;
    }
    for index in 0..2 {
        wan.cluster_mut(2).start_controller(index).await?;
    }
    wan.until("the filter is made again", async || {
        hold_at_most(wan, play, Some(&secrets)).await?;
        hold(wan, play, Some(&secrets)).await
    })
    .await
}

/// The controller is told to use `TrafficExtension` from now on: requests go where the rules say or are refused until
/// the gateways have it, and then as before.
pub(crate) async fn a_filter_of_the_other_kind_does_the_same(wan: &mut TestWan, play: &Play) -> Result<()> {
    let (module, secrets) = (wan.module().to_owned(), Secrets::read(wan).await?);
    wan.cluster_mut(2).change_launch(&module, &["--filter-kind", "traffic-extension"]);
    wan.cluster_mut(2).restart_controllers().await?;
    let mut refused = 0_u32;
    wan.until("the filter is a TrafficExtension", async || {
        refused += hold_at_most(wan, play, Some(&secrets)).await?;
        let [old, new] = [uid(wan, "wasmplugin/mcwan").await, uid(wan, "trafficextension/mcwan").await];
        Ok(old.is_err() && new.is_ok() && hold(wan, play, Some(&secrets)).await?)
    })
    .await?;
    eprintln!("measured: the filter became a TrafficExtension, {refused} requests refused meanwhile");
    Ok(())
}

/// New pods of the egress gateway, whose agents take their time to fetch the module: until they have it they refuse.
pub(crate) async fn a_filter_that_is_loading_lets_nothing_through(wan: &TestWan, play: &Play) -> Result<()> {
    let (old, secrets) = (play.gateways(wan).await?, Secrets::read(wan).await?);
    wan.impair(Ways::of_port(OCI_PORT), Impairment::late(SLOW));
    wan.cluster(2)
        .kubectl(&["delete", "pod", "--namespace", "secure", "--selector", EGRESS_PODS, "--wait=false"])
        .await?;
    let mut refused = BTreeMap::<_, u32>::new();
    wan.until("new pods have the filter", async || {
        let mut all_hold = true;
        let mut new = 0;
        for pod in wan.cluster(2).gateway_pods("secure", "mcwan-egress").await? {
            // Ready or not: where it has an address it may be asked.
            let Some(address) = pod.status.as_ref().and_then(|status| status.pod_ip.as_ref()?.parse().ok()) else {
                return Ok(false);
            };
            let gateway = SocketAddr::new(address, PORT);
            if old.contains(&gateway) {
                all_hold = false;
                continue;
            }
            new += 1;
            for row in rows(gateway, Some(&secrets)).into_iter().chain(opening_rows(gateway, &secrets)) {
                let attempt = row.attempt(wan, play).await?;
                ensure!(attempt.is_at_most(row.due), "while {} loads, {}: {attempt:?}", pod.name_any(), row.what);
                all_hold &= attempt.is(row.due);
                if !attempt.is(row.due) {
                    *refused.entry(attempt.status).or_default() += 1;
                }
            }
        }
        Ok(all_hold && new == 2)
    })
    .await?;
    wan.impair(Ways::of_port(OCI_PORT), Impairment::NONE);
    eprintln!("measured: two pods loaded the module slowly; refused meanwhile, by status: {refused:?}");
    Ok(())
}

/// The selector of the pods of the egress gateway.
const EGRESS_PODS: &str = "gateway.networking.k8s.io/gateway-name=mcwan-egress";

/// Whether all rows hold at all gateways.
pub(crate) async fn hold(wan: &TestWan, play: &Play, secrets: Option<&Secrets>) -> Result<bool> {
    let gateways = play.gateways(wan).await?;
    for gateway in &gateways {
        for row in rows(*gateway, secrets) {
            if !row.attempt(wan, play).await?.is(row.due) {
                return Ok(false);
            }
        }
    }
    Ok(!gateways.is_empty())
}

/// Whether both pods of the gateway answer, and refuse all rows.
pub(crate) async fn all_are_refused(wan: &TestWan, play: &Play) -> Result<bool> {
    let gateways = play.gateways(wan).await?;
    for gateway in &gateways {
        for row in rows(*gateway, None) {
            let attempt = row.attempt(wan, play).await?;
            if attempt.status.is_none() != (row.due == Due::Silence) || !attempt.is_refused() {
                return Ok(false);
            }
        }
    }
    Ok(gateways.len() == 2)
}

/// Makes sure that rows hold or are refused, at all gateways; gives how many were refused that should not have been.
pub(crate) async fn hold_at_most(wan: &TestWan, play: &Play, secrets: Option<&Secrets>) -> Result<u32> {
    let mut refused = 0;
    for gateway in play.gateways(wan).await? {
        for row in rows(gateway, secrets) {
            refused += u32::from(!row.must_hold_at_most(wan, play).await?);
        }
    }
    Ok(refused)
}

/// Whether a gateway has no filter: it answers as Envoy does where it knows no route.
async fn passes_unsteered(play: &Play, gateway: SocketAddr) -> bool {
    let answer = play.client().send(gateway, &mk_request("GET", "payment.secure:8080", "/payment")).await;
    answer.is_ok_and(|answer| answer.status == 404)
}

async fn uid(wan: &TestWan, filter: &str) -> Result<String> {
    let arguments = ["get", filter, "--namespace", "secure", "--output", "jsonpath={.metadata.uid}"];
    wan.cluster(2).kubectl(&arguments).await
}
