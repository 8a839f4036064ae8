//! Who answers.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use futures_util::future::LocalBoxFuture;
use mcwan_testbed::wan::WanClient;
use serde_json::json;

use super::{Case, PORT, Suite, mk_port};
use crate::scene::mk_request;

pub(super) fn cases<'w>(suite: &'w Suite<'w>) -> Vec<LocalBoxFuture<'w, Result<()>>> {
    vec![
        suite.case("answers", who_exports_answers),
        suite.case("answers-one", only_who_exports_answers),
        suite.case("answers-oldest", the_port_of_the_oldest_is_answered_by_it),
        suite.case("answers-each", each_port_is_answered_by_who_has_it),
    ]
}

/// How many connections in a row tell that nobody answers (spec 14), and that nobody else does (spec 25).
const NOBODY: usize = 20;
const NOBODY_ELSE: usize = 10;

/// Specs 14 and 24, and datagrams, too.
async fn who_exports_answers(case: Case<'_>) -> Result<()> {
    case.start(1, 1, json!({})).await?;
    for client in case.suite.clients {
        for _ in 0..NOBODY {
            ensure!(case.ask(client, PORT).await.is_none(), "somebody answers what nobody exports");
        }
    }
    case.export(1, json!({})).await?;
    case.until_answered(PORT, "cluster-1").await?;
    for client in case.suite.clients {
        case.until("a datagram is answered", async || {
            let Some(address) = case.address(client, PORT).await else { return Ok(false) };
            Ok(client.send_datagram(address).await?.is_some_and(|name| name.starts_with("cluster-1/")))
        })
        .await?;
    }
    Ok(())
}

/// Spec 25.
async fn only_who_exports_answers(case: Case<'_>) -> Result<()> {
    for cluster in [1, 2] {
        case.start(cluster, 1, json!({})).await?;
    }
    case.export(1, json!({})).await?;
    case.until_answered(PORT, "cluster-1").await?;
    case.stays_answered(PORT, "cluster-1").await
}

/// Spec 26.
async fn the_port_of_the_oldest_is_answered_by_it(case: Case<'_>) -> Result<()> {
    case.start(1, 1, json!({})).await?;
    case.start(2, 1, json!({"ports": [mk_port("tcp", 4_242, "TCP")]})).await?;
    case.export_one_by_one([json!({}), json!({})]).await?;
    case.until_condition(2, "Conflict", "True").await?;
    case.until_answered(PORT, "cluster-1").await?;
    case.stays_answered(PORT, "cluster-1").await
}

/// Spec 27.
async fn each_port_is_answered_by_who_has_it(case: Case<'_>) -> Result<()> {
    case.start(1, 1, json!({"ports": [mk_port("tcp", PORT, "TCP")]})).await?;
    case.start(2, 1, json!({"ports": [mk_port("tcp-other", 4_242, "TCP")]})).await?;
    case.export_one_by_one([json!({}), json!({})]).await?;
    for (port, cluster) in [(PORT, "cluster-1"), (4_242, "cluster-2")] {
        case.until_answered(port, cluster).await?;
        case.stays_answered(port, cluster).await?;
    }
    Ok(())
}

impl Case<'_> {
    /// Where a client is led to for a port; none: the name is not known to it.
    async fn address(&self, client: &WanClient, port: u16) -> Option<SocketAddr> {
        let address = client.resolve(&self.host(), "A").await.ok()?.first()?.parse().ok()?;
        Some(SocketAddr::new(address, port))
    }

    /// The cluster that answers a client; none: nobody does.
    async fn ask(&self, client: &WanClient, port: u16) -> Option<String> {
        let address = self.address(client, port).await?;
        let answer = client.send(address, &mk_request("GET", "nobody.example", "/")).await.ok()?;
        Some(answer.echo_name()?.split('/').next()?.to_owned())
    }

    /// Waits until this cluster answers clients of each.
    async fn until_answered(&self, port: u16, cluster: &str) -> Result<()> {
        for client in self.suite.clients {
            let answers = async || Ok(self.ask(client, port).await.is_some_and(|by| by == cluster));
            self.until(&format!("{cluster} answers {} on {port}", client.address()), answers).await?;
        }
        Ok(())
    }

    /// This cluster answers clients of each, and no other does.
    async fn stays_answered(&self, port: u16, cluster: &str) -> Result<()> {
        for client in self.suite.clients {
            for _ in 0..NOBODY_ELSE {
                let by = self.ask(client, port).await;
                ensure!(by.as_deref() == Some(cluster), "{by:?} answers {} on {port}", client.address());
            }
        }
        Ok(())
    }
}
