//! What the other tests rely on.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use mcwan_testbed::wan::{Plan, TestWan, WanCluster};
use serde_json::json;

use crate::objects::{mk_echo, mk_export, mk_file, mk_namespace, mk_service, mk_tier};
use crate::scene::{HIGH, half_machine};

const GATEWAY: (&str, &str) = ("secure", "mcwan-ingress");

#[tokio::test]
async fn clusters_are_as_real_ones() -> Result<()> {
    let _turn = half_machine().await;
    let mut wan = TestWan::start(Plan::default().clusters(1).arguments(&["--lease-seconds", "5"])).await?;
    let cluster = wan.cluster(1);
    cluster.apply(&mk_file(&[mk_namespace("secure"), mk_tier(HIGH.0, HIGH.1)])).await?;
    let exported =
        [mk_echo("secure", "payment", 1), mk_service("secure", "payment"), mk_export("secure", "payment", HIGH.0)];
    cluster.apply(&mk_file(&exported)).await?;
    until_two_are_ready(&wan).await?;
    istio_refuses_what_is_wrong(wan.cluster(1)).await?;
    a_killed_gateway_starts_again(&wan).await?;
    a_deleted_gateway_is_replaced(&wan).await?;
    until_both_are_exported(&wan).await?;
    everything_survives_its_control_plane(&mut wan).await?;
    nothing_is_left_behind(wan)
}

async fn pods(cluster: &WanCluster) -> Result<Vec<Pod>> {
    cluster.gateway_pods(GATEWAY.0, GATEWAY.1).await
}

async fn until_two_are_ready(wan: &TestWan) -> Result<()> {
    let two = async || Ok(pods(wan.cluster(1)).await?.iter().filter(|pod| is_ready(pod)).count() == 2);
    wan.until("two pods of the gateway are ready", two).await
}

/// Waits until the registry has them too, and nothing else will be written. A write that is still under way when the API
/// server is killed would be made again, and refused: one that has just started does not know its roles.
async fn until_both_are_exported(wan: &TestWan) -> Result<()> {
    let export = "get exportedservice cluster-1.secure.payment --namespace mc-wan-registry --ignore-not-found --output \
                  jsonpath={.spec.gateways[*]}";
    let export: Vec<_> = export.split(' ').collect();
    let shown = "get serviceimports.multicluster.x-k8s.io payment --namespace secure --ignore-not-found --output \
                 jsonpath={.status.conditions[0].reason}";
    let shown: Vec<_> = shown.split(' ').collect();
    wan.until("its own clients reach it, too", async || Ok(wan.cluster(1).kubectl(&shown).await? == "Ready")).await?;
    wan.until("the export has the addresses of both pods", async || {
        let exported = wan.cluster(1).kubectl(&export).await?;
        let exported: BTreeSet<_> = exported.split_whitespace().map(str::to_owned).collect();
        let pods = pods(wan.cluster(1)).await?;
        let ready = pods.iter().filter(|pod| is_ready(pod)).map(address).collect::<Result<BTreeSet<_>>>()?;
        Ok(exported.len() == 2 && exported == ready)
    })
    .await
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|condition| condition.type_ == "Ready").any(|condition| condition.status == "True")
}

fn address(pod: &Pod) -> Result<String> {
    pod.status.as_ref().and_then(|status| status.pod_ip.clone()).context("the pod has no address")
}

/// The API server asks istiod about it.
async fn istio_refuses_what_is_wrong(cluster: &WanCluster) -> Result<()> {
    let policy = json!({"apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy",
        "metadata": {"namespace": "secure", "name": "wrong"},
        "spec": {"action": "DENY", "rules": [{"from": [{"source": {"notIpBlocks": []}}]}]}});
    let error = cluster.apply(&policy.to_string()).await.err().context("it is taken")?;
    ensure!(format!("{error:#}").contains("admission webhook"), "{error:#}");
    Ok(())
}

async fn a_killed_gateway_starts_again(wan: &TestWan) -> Result<()> {
    let cluster = wan.cluster(1);
    let pod = pods(cluster).await?.pop().context("a pod")?;
    let (name, before) = (pod.name_any(), address(&pod)?);
    let of_name = async || {
        let mut all = pods(cluster).await?.into_iter();
        all.find(|pod| pod.name_any() == name).context("the pod is gone")
    };
    cluster.kubelet().kill("secure", &name)?;
    wan.until("it is ready again", async || {
        let pod = of_name().await?;
        let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.clone()).unwrap_or_default();
        Ok(statuses.iter().map(|status| status.restart_count).eq([1]) && is_ready(&pod))
    })
    .await?;
    ensure!(address(&of_name().await?)? == before, "its address is another");
    Ok(())
}

async fn a_deleted_gateway_is_replaced(wan: &TestWan) -> Result<()> {
    let cluster = wan.cluster(1);
    let before = pods(cluster).await?;
    let old = before.first().context("a pod")?;
    cluster.kubectl(&["delete", "pod", "--namespace", "secure", "--wait=false", &old.name_any()]).await?;
    wan.until("its Pod is gone", async || Ok(pods(cluster).await?.iter().all(|pod| pod.uid() != old.uid()))).await?;
    until_two_are_ready(wan).await?;
    let addresses = before.iter().map(address).collect::<Result<BTreeSet<_>>>()?;
    let new = pods(cluster).await?.iter().map(address).collect::<Result<BTreeSet<_>>>()?;
    ensure!(new.intersection(&addresses).count() == 1, "{addresses:?} became {new:?}");
    let log = fs::read_to_string(cluster.kubelet().log("secure", &old.name_any()))?;
    ensure!(log.contains("Graceful termination period"), "it was not asked to end:\n{log}");
    Ok(())
}

async fn everything_survives_its_control_plane(wan: &mut TestWan) -> Result<()> {
    let cluster = wan.cluster_mut(1);
    cluster.stop_api_server();
    cluster.istiod_mut().kill();
    cluster.start_api_server().await?;
    cluster.restart_istiod().await?;
    cluster.kubectl(&["delete", "pod", "--namespace", "secure", "--all", "--wait=false"]).await?;
    let gone = async || {
        let all = pods(wan.cluster(1)).await?;
        Ok(all.iter().all(|pod| pod.metadata.deletion_timestamp.is_none()))
    };
    wan.until("the old pods are gone", gone).await?;
    until_two_are_ready(wan).await?;
    let leader = wan.cluster(1).leader().await?;
    wan.cluster_mut(1).kill_controller(leader);
    wan.cluster_mut(1).start_controller(leader).await?;
    wan.cluster(1).leader().await?;
    Ok(())
}

fn nothing_is_left_behind(wan: TestWan) -> Result<()> {
    let folder = wan.folder().to_owned();
    ensure!(!programs_of(&folder).is_empty(), "no program has {} in its command", folder.display());
    drop(wan);
    ensure!(programs_of(&folder).is_empty(), "{:?} still run", programs_of(&folder));
    ensure!(!folder.exists(), "{} is still there", folder.display());
    Ok(())
}

/// The command lines and working folders that have a folder in them.
fn programs_of(folder: &std::path::Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let found = processes.filter_map(|process| {
        let command = String::from_utf8_lossy(&fs::read(process.join("cmdline")).ok()?).replace('\0', " ");
        let works_there = fs::read_link(process.join("cwd")).is_ok_and(|place| place.starts_with(folder));
        (works_there || command.contains(&*folder.to_string_lossy())).then_some(command)
    });
    found.collect()
}
