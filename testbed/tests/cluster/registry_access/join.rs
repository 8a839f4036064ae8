//! `mcwan registry join`.

use std::fs;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::StreamExt;
use kube::api::{WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use mcwan_core::api::ExportedService;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;
use serde_json::json;
use tokio::time::timeout;

use super::member::{Member, REGISTRY, done, registry, wan_cluster};
use crate::shared::on_shared_cluster;

const START: Duration = Duration::from_mins(2);

async fn client(member: &Member) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(member.kubeconfig())?;
    Ok(Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)?)
}

#[tokio::test]
async fn the_credentials_are_those_of_the_cluster_and_enough_to_follow_the_registry() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    done(&cluster, &["init"]).await?;
    let c1 = Member::join(&cluster, "c1").await?;
    for line in [
        "serviceaccount/c1 created",
        "secret/c1 created",
        "rolebinding.rbac.authorization.k8s.io/mcwan-cluster.c1 created",
    ] {
        assert!(c1.hints.lines().any(|hint| hint == line), "{line}\n{}", c1.hints);
    }
    let who = c1.kubectl("auth whoami -o jsonpath={.status.userInfo.username}", "").await?;
    assert_eq!(who.out, "system:serviceaccount:mc-wan-registry:c1", "{who:?}");

    // Again, and elsewhere.
    let printed = fs::read_to_string(c1.kubeconfig())?;
    assert!(!printed.contains("certificate-authority: "), "no other file is needed: {printed}");
    let again = done(&cluster, &["join", "c1"]).await?;
    assert_eq!(again.out, printed);
    assert!(again.log.contains("serviceaccount/c1 unchanged\nsecret/c1 unchanged\n"), "{}", again.log);
    let elsewhere = done(&cluster, &["join", "c1", "--server", "https://hub.example.com:6443/"]).await?;
    assert_eq!(elsewhere.out, printed.replace(&cluster.url(), "https://hub.example.com:6443"));
    assert!(c1.hints.contains("warning: other clusters do not reach https://127."), "{}", c1.hints);
    assert!(!elsewhere.log.contains("warning"), "{}", elsewhere.log);

    // What the controller and `mcwan status` read.
    let c2 = Member::join(&cluster, "c2").await?;
    c2.publish(&["payment"]).await?;
    let ran = c1.kubectl("get wanclusters,exportedservices,leases -o name", "").await?;
    assert_eq!(
        ran.out,
        "wancluster.mc-wan.l7mp.io/c2\nexportedservice.mc-wan.l7mp.io/c2.secure.payment\nlease.coordination.k8s.io/c2\n",
        "{ran:?}"
    );
    let exports: Api<ExportedService> = Api::default_namespaced(client(&c1).await?);
    let mut events = pin!(exports.watch(&WatchParams::default(), "0").await?);
    let first = timeout(START, events.next()).await.context("there is no event in time")?;
    let Some(Ok(WatchEvent::Added(export))) = first else { panic!("{first:?}") };
    assert_eq!(export.spec.cluster, "c2");
    Ok(())
}

#[tokio::test]
async fn credentials_that_would_let_one_write_what_is_anothers_are_not_given() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    done(&cluster, &["init"]).await?;
    let c0 = Member::join(&cluster, "c0").await?;
    let policy = "validatingadmissionpolicy/mcwan-registry";
    let nobody =
        json!([{"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "no", "expression": "false"}}]);
    cluster.kubectl(&["patch", policy, "--type=json", "--patch", &nobody.to_string()]).await?;
    // The API server reads policies anew once a second.
    until(START, "the policy holds for nobody", async || {
        let ran = c0.kubectl("create --dry-run=server -f -", &wan_cluster("c9")).await?;
        Ok(ran.status == Some(0))
    })
    .await?;
    done(&cluster, &["leave", "c0"]).await?;
    let ran = registry(&cluster, &["join", "c1", "--timeout", "5"]).await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.log.contains("error: the API server lets c1 write what another cluster publishes"), "{}", ran.log);
    assert_eq!(cluster.kubectl(&["get", "rolebindings", REGISTRY, "--output=name"]).await?, "", "no rights are left");

    done(&cluster, &["init"]).await?;
    Member::join(&cluster, "c1").await?.publish(&[]).await
}

#[test]
fn wrong_usage_is_told() -> Result<()> {
    on_shared_cluster(async |cluster| {
        let too_long = "c".repeat(64);
        for name in ["Cluster-1", "c_1", "c.1", "c1-", "", &too_long] {
            for task in ["join", "leave"] {
                let ran = registry(cluster, &[task, name]).await?;
                assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{task} {name}: {ran:?}");
                assert!(ran.log.contains("a cluster's name is a DNS label"), "{task} {name}: {}", ran.log);
            }
        }
        for (server, complaint) in
            [("http://hub.example.com", "an API server is at https://"), ("hub:6443", "https://")]
        {
            let ran = registry(cluster, &["join", "c1", "--server", server]).await?;
            assert_eq!(ran.status, Some(2), "{server}: {ran:?}");
            assert!(ran.log.contains(complaint), "{server}: {}", ran.log);
        }
        for (labels, complaint) in [
            (&["--label", "env"][..], "a label is KEY=VALUE"),
            (&["--label", "e nv=cloud"], "the key of a label is"),
            (&["--label", "env=a b"], "the value of a label is"),
            (&["--label", "mc-wan.l7mp.io/cluster=c2"], "each cluster has a label mc-wan.l7mp.io/cluster"),
            (&["--label", "a=b", "--label", "a=c"], "--label a has two values"),
        ] {
            let ran = registry(cluster, &[&["join", "c1"], labels].concat()).await?;
            assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{labels:?}: {ran:?}");
            assert!(ran.log.contains(complaint), "{labels:?}: {}", ran.log);
        }
        let ran = registry(cluster, &["init", "--context", "missing"]).await?;
        assert_eq!(ran.status, Some(1), "{ran:?}");
        Ok(())
    })
}
