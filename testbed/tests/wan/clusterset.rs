//! A service of both clusters: one name in each, one address, and requests that stay where they may.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::echo::NAME_HEADER;
use mcwan_testbed::wan::{TestWan, WanClient};
use serde_json::json;

use crate::objects::{mk_export, mk_file};
use crate::protocols::services::{DESK_HTTP, NAMESPACE, ensure_spoken, mk_desk};
use crate::scene::{LOW, Scene, mk_request};

/// How many requests in a row tell who answers.
const ROW: usize = 30;

/// `desk` is there and exported by cluster 1, and cluster 2 has rules for it.
pub(crate) async fn a_service_of_both_clusters(scene: &Scene) -> Result<()> {
    it_is_called_by_its_address(scene).await?;
    let wan = &scene.wan;
    let (one, two) = (Caller::new(wan, 1).await?, Caller::new(wan, 2).await?);
    one.until_answered_by(&[1]).await?;
    wan.cluster(2).apply(&mk_file(&mk_desk())).await?;
    wan.cluster(2).apply(&mk_file(&[mk_export(NAMESPACE, "desk", LOW.0)])).await?;
    two.until_answered_by(&[1, 2]).await?;
    one.until_answered_by(&[1, 2]).await?;
    requests_stay_close(wan, &one, &two).await?;

    // The oldest export leaves.
    wan.cluster(1).kubectl(&["delete", "serviceexport", "desk", "-n", NAMESPACE]).await?;
    two.until_answered_by(&[2]).await?;
    one.until_answered_by(&[2]).await
}

async fn it_is_called_by_its_address(scene: &Scene) -> Result<()> {
    let text = async |object: &str, path: &str| {
        let output = format!("jsonpath={path}");
        scene.wan.cluster(2).kubectl(&["get", object, "-n", NAMESPACE, "-o", &output]).await
    };
    let shown = "serviceimports.multicluster.x-k8s.io/desk";
    let address = text("service/desk-clusterset", "{.spec.clusterIP}").await?;
    ensure!(text(shown, "{.spec.ips[*]}").await? == address, "{address} is not what is shown");
    ensure!(text(shown, "{.status.clusters[*].cluster}").await? == "cluster-1", "cluster-1 exports it");
    let ready = "{.status.conditions[?(@.type=='Ready')].reason}";
    scene.wan.until("clients are told that it is there", async || Ok(text(shown, ready).await? == "Ready")).await?;
    for gateway in scene.wan.cluster(2).endpoints(NAMESPACE, "desk-clusterset", DESK_HTTP).await? {
        let before = scene.wan.traffic();
        let answer = scene.client.send(gateway, &mk_request("GET", &format!("{address}:{DESK_HTTP}"), "/low")).await?;
        let seen = answer.seen().with_context(|| format!("{address} answers {}", answer.status))?;
        ensure!(seen.authority == "desk.talk.svc.cluster.local", "it is called {}", seen.authority);
        ensure_spoken(&scene.wan, &before, Some(LOW.1), "a request by address")?;
    }
    Ok(())
}

/// While the oldest export says so, and there is a pod.
async fn requests_stay_close(wan: &TestWan, one: &Caller<'_>, two: &Caller<'_>) -> Result<()> {
    let close = json!({"spec": {"trafficDistribution": "PreferClose"}}).to_string();
    wan.cluster(1).kubectl(&["patch", "service", "desk", "-n", NAMESPACE, "-p", &close]).await?;
    one.until_answered_by(&[1]).await?;
    two.until_answered_by(&[2]).await?;
    let scale = async |pods: &str| {
        let replicas = format!("--replicas={pods}");
        wan.cluster(2).kubectl(&["scale", "deployment/desk", "-n", NAMESPACE, &replicas]).await
    };
    scale("0").await?;
    two.until_answered_by(&[1]).await?;
    scale("2").await?;
    two.until_answered_by(&[2]).await
}

/// A client in a cluster.
struct Caller<'w> {
    wan: &'w TestWan,
    cluster: u8,
    client: WanClient,
}

impl<'w> Caller<'w> {
    async fn new(wan: &'w TestWan, cluster: u8) -> Result<Self> {
        Ok(Self { wan, cluster, client: wan.client(cluster).await? })
    }

    /// Waits until of many requests in a row each is answered by one of these clusters, and by no other.
    async fn until_answered_by(&self, clusters: &[u8]) -> Result<()> {
        let expected: BTreeSet<_> = clusters.iter().map(|cluster| format!("cluster-{cluster}")).collect();
        let what = format!("in cluster {}, {expected:?} answer", self.cluster);
        self.wan
            .until(&what, async || {
                let gateways =
                    self.wan.cluster(self.cluster).endpoints(NAMESPACE, "desk-clusterset", DESK_HTTP).await?;
                let mut by = BTreeSet::new();
                for number in 0..ROW {
                    let Some(gateway) = gateways.get(number % gateways.len().max(1)) else { return Ok(false) };
                    let Some(cluster) = self.ask(*gateway).await else { return Ok(false) };
                    by.insert(cluster);
                }
                Ok(by == expected)
            })
            .await
    }

    /// Which cluster answers a request.
    async fn ask(&self, gateway: SocketAddr) -> Option<String> {
        let answer =
            self.client.send(gateway, &mk_request("GET", "desk.talk.svc.clusterset.local", "/low")).await.ok()?;
        let (_, name) = answer.headers.iter().find(|(name, _)| name == NAME_HEADER)?;
        let name = String::from_utf8_lossy(name);
        Some(name.split('/').next()?.to_owned())
    }
}
