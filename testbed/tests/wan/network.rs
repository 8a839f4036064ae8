//! Clusters of one network: connections that are no requests go straight to each other's pods.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wan::{Plan, TestWan, WanClient};
use serde_json::{Value, json};

use crate::conformance::the_suite_holds;
use crate::objects::{mk_echo, mk_export, mk_file, mk_namespace, mk_tier};
use crate::scene::{HIGH, half_machine, mk_request};

const NAMESPACE: &str = "data";
/// A port that is not HTTP's, whatever the pods happen to speak there.
const PORT: u16 = 5432;
/// How many connections tell who answers.
const ROW: usize = 30;

#[tokio::test]
async fn pods_of_one_network_reach_each_other() -> Result<()> {
    let _turn = half_machine().await;
    let wan = TestWan::start(Plan::default().arguments(&["--network", "lan"])).await?;
    let clients = [wan.client(1).await?, wan.client(2).await?];
    // It has no tiers.
    the_suite_holds(&wan, &clients).await?;
    wan.apply_everywhere(&mk_file(&[mk_namespace(NAMESPACE), mk_tier(HIGH.0, HIGH.1)])).await?;
    wan.cluster(2).apply(&mk_file(&mk_exported())).await?;
    until_answered_by(&wan, &clients, &[2]).await?;
    until_named(&wan, &clients, &[2]).await?;
    let port = clients[0].resolve("_tcp-vault._tcp.vault.data.svc.clusterset.local", "SRV").await?;
    ensure!(port == [format!("0 100 {PORT} vault.data.svc.clusterset.local.")], "{port:?}");

    wan.cluster(1).apply(&mk_file(&mk_exported())).await?;
    until_answered_by(&wan, &clients, &[1, 2]).await?;
    until_named(&wan, &clients, &[1, 2]).await?;

    wan.cluster(2).kubectl(&["scale", "deployment/vault", "-n", NAMESPACE, "--replicas=0"]).await?;
    until_answered_by(&wan, &clients, &[1]).await?;
    until_named(&wan, &clients, &[1]).await?;
    wan.cluster(2).kubectl(&["scale", "deployment/vault", "-n", NAMESPACE, "--replicas=1"]).await?;
    until_answered_by(&wan, &clients, &[1, 2]).await?;

    let exports = ["delete", "serviceexport", "vault", "store", "-n", NAMESPACE];
    wan.cluster(1).kubectl(&exports).await?;
    until_answered_by(&wan, &clients, &[2]).await?;
    until_named(&wan, &clients, &[2]).await?;
    let left = ["get", "exportedendpoints", "-n", "mc-wan-registry", "-o", "name"];
    let left = wan.cluster(1).kubectl(&left).await?;
    ensure!(!left.contains("/cluster-1."), "the registry has what nobody exports: {left}");
    Ok(())
}

/// Pods, and two Services that are exported: `vault`, and `store`, which is headless.
fn mk_exported() -> [Value; 5] {
    let service = |name: &str, address: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"clusterIP": address, "selector": {"app": "vault"},
                "ports": [{"name": "tcp-vault", "port": PORT, "targetPort": 9080}]}})
    };
    [
        mk_echo(NAMESPACE, "vault", 2),
        service("vault", Value::Null),
        service("store", "None".into()),
        mk_export(NAMESPACE, "vault", HIGH.0),
        mk_export(NAMESPACE, "store", HIGH.0),
    ]
}

/// Waits until of many connections in a row, from either cluster, each is answered by one of these, and by no other.
async fn until_answered_by(wan: &TestWan, clients: &[WanClient; 2], clusters: &[u8]) -> Result<()> {
    let expected: BTreeSet<_> = clusters.iter().map(|cluster| format!("cluster-{cluster}")).collect();
    for client in clients {
        wan.until(&format!("{expected:?} answer {}", client.address()), async || {
            let mut by = BTreeSet::new();
            for _ in 0..ROW {
                let Some(cluster) = ask(client).await else { return Ok(false) };
                by.insert(cluster);
            }
            Ok(by == expected)
        })
        .await?;
    }
    Ok(())
}

/// Which cluster answers a connection to the name of `vault`.
async fn ask(client: &WanClient) -> Option<String> {
    let address = client.resolve("vault.data.svc.clusterset.local", "A").await.ok()?.first()?.parse().ok()?;
    let answer = client.send(SocketAddr::new(address, PORT), &mk_request("GET", "nobody.example", "/")).await.ok()?;
    Some(answer.echo_name()?.split('/').next()?.to_owned())
}

/// Waits until the name of `store` leads to all pods of these clusters, in either.
async fn until_named(wan: &TestWan, clients: &[WanClient; 2], clusters: &[u8]) -> Result<()> {
    let pods = ["get", "pods", "-n", NAMESPACE, "-l", "app=vault", "-o", "jsonpath={.items[*].status.podIP}"];
    for client in clients {
        wan.until(&format!("the pods of {clusters:?} have a name for {}", client.address()), async || {
            let mut expected = BTreeSet::new();
            for cluster in clusters {
                let addresses = wan.cluster(*cluster).kubectl(&pods).await.context("no pods")?;
                expected.extend(addresses.split_whitespace().map(str::to_owned));
            }
            let found = client.resolve("store.data.svc.clusterset.local", "A").await?;
            Ok(!expected.is_empty() && found.into_iter().collect::<BTreeSet<_>>() == expected)
        })
        .await?;
    }
    Ok(())
}
