//! A service of both clusters: one name in each, which DNS tells, one address, and requests that stay where they may.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wan::{TestWan, WanClient};
use serde_json::json;

use crate::objects::{mk_export, mk_file};
use crate::protocols::services::{DESK_HTTP, NAMESPACE, ensure_spoken, mk_desk};
use crate::scene::{LOW, Scene, mk_request};
use crate::sidecar::sidecars_reach_the_name;

/// What the service is called in every cluster.
const NAME: &str = "desk.talk.svc.clusterset.local";
const DESK: Name = Name { host: NAME, port: DESK_HTTP };

/// How many requests in a row tell who answers.
const ROW: usize = 30;

/// `desk` is there and exported by cluster 1, and cluster 2 has rules for it.
pub(crate) async fn a_service_of_both_clusters(scene: &Scene) -> Result<()> {
    it_is_called_by_its_address(scene).await?;
    let wan = &scene.wan;
    let (one, two) = (Caller::new(wan, 1, DESK).await?, Caller::new(wan, 2, DESK).await?);
    one.until_answered_by(&[1]).await?;
    wan.cluster(2).apply(&mk_file(&mk_desk())).await?;
    wan.cluster(2).apply(&mk_file(&[mk_export(NAMESPACE, "desk", LOW.0)])).await?;
    two.until_answered_by(&[1, 2]).await?;
    one.until_answered_by(&[1, 2]).await?;
    requests_stay_close(wan, &one, &two).await?;
    pods_have_a_name(&one, &two).await?;
    connections_go_straight_to_pods(&one, &two).await?;

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
    for name in [NAME, "desk-clusterset.talk.svc.cluster.local"] {
        let known = async || Ok(scene.client.resolve(name, "A").await? == [&*address]);
        scene.wan.until(&format!("{name} is {address}"), known).await?;
    }
    let ports = scene.client.resolve(&format!("_http._tcp.{NAME}"), "SRV").await?;
    ensure!(ports == [format!("0 100 {DESK_HTTP} {NAME}.")], "{ports:?}");
    let at = SocketAddr::new(address.parse()?, DESK_HTTP);
    for host in [NAME, "desk-clusterset.talk", &format!("{address}:{DESK_HTTP}")] {
        let before = scene.wan.traffic();
        let answer = scene.client.send(at, &mk_request("GET", host, "/low")).await?;
        let seen = answer.seen().with_context(|| format!("{host} answers {}", answer.status))?;
        ensure!(seen.authority == "desk.talk.svc.cluster.local", "it is called {}", seen.authority);
        ensure_spoken(&scene.wan, &before, Some(LOW.1), host)?;
    }
    sidecars_reach_the_name(scene, NAME, &address).await
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

/// Those of a headless service, in the cluster that they are in: no other reaches them.
async fn pods_have_a_name(one: &Caller<'_>, two: &Caller<'_>) -> Result<()> {
    let (wan, name) = (two.wan, "choir.talk.svc.clusterset.local");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": "choir"},
        "spec": {"clusterIP": "None", "selector": {"app": "desk"},
            "ports": [{"name": "http", "port": DESK_HTTP, "targetPort": 9080}]}});
    wan.cluster(2).apply(&mk_file(&[service, mk_export(NAMESPACE, "choir", LOW.0)])).await?;
    wan.until("the name leads to the pods", async || {
        let pods = ["get", "pods", "-n", NAMESPACE, "-l", "app=desk", "-o", "jsonpath={.items[*].status.podIP}"];
        let pods = wan.cluster(2).kubectl(&pods).await?;
        let pods: BTreeSet<_> = pods.split_whitespace().map(str::to_owned).collect();
        Ok(pods.len() == 2 && two.client.resolve(name, "A").await?.into_iter().collect::<BTreeSet<_>>() == pods)
    })
    .await?;
    let shown =
        ["get", "serviceimports.multicluster.x-k8s.io", "choir", "-n", NAMESPACE, "-o", "jsonpath={.spec.type}"];
    wan.until("it is shown elsewhere", async || {
        Ok(wan.cluster(1).kubectl(&shown).await.is_ok_and(|is| is == "Headless"))
    })
    .await?;
    ensure!(one.client.resolve(name, "A").await?.is_empty(), "cluster 1 reaches no pods of cluster 2");
    // The names of pods' addresses are told, though other slices have them, too.
    let address = two.client.resolve(name, "A").await?.pop().context("no pod")?;
    let reverse: Vec<_> = address.split('.').rev().collect();
    let names = two.client.resolve(&format!("{}.in-addr.arpa", reverse.join(".")), "PTR").await?;
    ensure!(names.iter().any(|name| name.ends_with(".choir.talk.svc.cluster.local.")), "{address} is {names:?}");
    // Its rules hold by the name of the gateway.
    let gateways = two.client.resolve("choir-clusterset.talk.svc.cluster.local", "A").await?;
    ensure!(!gateways.is_empty(), "no gateway has the name");
    Ok(())
}

/// Those that are no requests, in the cluster that the pods are in: a port that is not HTTP passes no gateway.
async fn connections_go_straight_to_pods(one: &Caller<'_>, two: &Caller<'_>) -> Result<()> {
    let (wan, name, at) = (two.wan, "vault.talk.svc.clusterset.local", 5432);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": "vault"},
        "spec": {"selector": {"app": "desk"}, "ports": [{"name": "tcp-vault", "port": at, "targetPort": 9080}]}});
    wan.cluster(2).apply(&mk_file(&[service, mk_export(NAMESPACE, "vault", LOW.0)])).await?;
    // What the pods happen to speak shows that nobody has touched it.
    let request = mk_request("GET", "nobody.example", "/");
    wan.until("a connection to the address is one to a pod", async || {
        let Some(address) = two.client.resolve(name, "A").await?.pop() else { return Ok(false) };
        let Ok(answer) = two.client.send(SocketAddr::new(address.parse()?, at), &request).await else {
            return Ok(false);
        };
        let is_near = answer.echo_name().is_some_and(|name| name.starts_with("cluster-2/"));
        Ok(is_near && answer.seen().is_some_and(|seen| seen.authority == "nobody.example"))
    })
    .await?;
    let ready = "jsonpath={.status.conditions[?(@.type=='Ready')].message}";
    let shown = ["get", "serviceimports.multicluster.x-k8s.io", "vault", "-n", NAMESPACE, "-o", ready];
    wan.until("elsewhere, clients are told that they reach no pods", async || {
        let told = wan.cluster(1).kubectl(&shown).await.unwrap_or_default();
        Ok(told.contains("5432/TCP not from cluster-2"))
    })
    .await?;
    let address = one.client.resolve(name, "A").await?.pop().context("it has a name here, too")?;
    let refused = one.client.send(SocketAddr::new(address.parse()?, at), &request).await;
    ensure!(refused.is_err(), "cluster 1 reaches {name}: {refused:?}");
    Ok(())
}

/// What a service is called, and the port to call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) host: &'static str,
    pub(crate) port: u16,
}

/// A client of a service in a cluster.
pub(crate) struct Caller<'w> {
    wan: &'w TestWan,
    cluster: u8,
    client: WanClient,
    name: Name,
}

impl<'w> Caller<'w> {
    pub(crate) async fn new(wan: &'w TestWan, cluster: u8, name: Name) -> Result<Self> {
        Ok(Self { wan, cluster, client: wan.client(cluster).await?, name })
    }

    /// Waits until of many requests in a row each is answered by one of these clusters, and by no other.
    pub(crate) async fn until_answered_by(&self, clusters: &[u8]) -> Result<()> {
        let expected: BTreeSet<_> = clusters.iter().map(|cluster| format!("cluster-{cluster}")).collect();
        let what = format!("in cluster {}, {expected:?} answer", self.cluster);
        self.wan
            .until(&what, async || {
                let mut by = BTreeSet::new();
                for _ in 0..ROW {
                    let Some(cluster) = self.ask().await else { return Ok(false) };
                    by.insert(cluster);
                }
                Ok(by == expected)
            })
            .await
    }

    /// Which cluster answers a request to the name.
    pub(crate) async fn ask(&self) -> Option<String> {
        let Name { host, port } = self.name;
        let address = self.client.resolve(host, "A").await.ok()?.first()?.parse().ok()?;
        let answer = self.client.send(SocketAddr::new(address, port), &mk_request("GET", host, "/low")).await.ok()?;
        Some(answer.echo_name()?.split('/').next()?.to_owned())
    }
}
