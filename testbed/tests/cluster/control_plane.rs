//! The real control plane: what the controller's tests rely on.

mod remains;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use mcwan_testbed::cluster::{Crds, TestCluster};
use mcwan_testbed::wait::until;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::shared::on_shared_cluster;
use remains::Remains;

/// How long the controllers may take.
const SOON: Duration = Duration::from_mins(1);

fn mk_namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn mk_config_map(namespace: &str, name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"namespace": namespace, "name": name}})).unwrap()
}

/// A config map that a `ServiceImport` of ours owns.
fn mk_owned(name: &str, import: &str, uid: &str, block_owner_deletion: bool) -> ConfigMap {
    let owner = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport", "name": import, "uid": uid,
        "controller": true, "blockOwnerDeletion": block_owner_deletion});
    let metadata = json!({"namespace": "default", "name": name, "ownerReferences": [owner]});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

async fn create(client: &Client, config_map: &ConfigMap) -> kube::Result<ConfigMap> {
    let namespace = config_map.metadata.namespace.as_deref().unwrap();
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), config_map).await
}

/// Applies an import, and gives its uid.
async fn import(cluster: &TestCluster, name: &str) -> Result<String> {
    let import = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"namespace": "default", "name": name}, "spec": {}});
    cluster.apply(&import.to_string()).await?;
    cluster.kubectl(&["get", "serviceimports.mc-wan.l7mp.io", name, "-o", "jsonpath={.metadata.uid}"]).await
}

#[tokio::test]
async fn it_serves_what_it_was_asked_for() {
    let cluster = TestCluster::start_with(&[Crds::Mcwan, Crds::McsV1Alpha1]).await.unwrap();
    let served = cluster.kubectl(&["api-versions"]).await.unwrap();
    let expected = [
        ("mc-wan.l7mp.io/v1alpha1", true),
        ("multicluster.x-k8s.io/v1alpha1", true),
        ("multicluster.x-k8s.io/v1beta1", false),
        ("gateway.networking.k8s.io/v1", false),
    ];
    for (version, is_served) in expected {
        assert_eq!(served.lines().any(|line| line == version), is_served, "{version} in\n{served}");
    }
    for (crds, version) in [
        (Crds::McsV1Beta1, "multicluster.x-k8s.io/v1beta1"),
        (Crds::GatewayApi, "gateway.networking.k8s.io/v1"),
        (Crds::Istio, "extensions.istio.io/v1alpha1"),
    ] {
        cluster.install_crds(crds).await.unwrap();
        let is_listed = async || Ok(cluster.kubectl(&["api-versions"]).await?.lines().any(|line| line == version));
        until(SOON, &format!("{version} is listed"), is_listed).await.unwrap();
    }
}

#[test]
fn its_controllers_clean_up_and_make_pods() -> Result<()> {
    on_shared_cluster(async |cluster| {
        let client = cluster.client();

        cluster.apply(&mk_namespace("brief").to_string()).await.unwrap();
        create(&client, &mk_config_map("brief", "kept")).await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.delete("brief", &DeleteParams::default()).await.unwrap();
        until(SOON, "the namespace is gone", async || Ok(namespaces.get_opt("brief").await?.is_none())).await.unwrap();

        let uid = import(cluster, "fleeting").await.unwrap();
        create(&client, &mk_owned("owned", "fleeting", &uid, false)).await.unwrap();
        cluster.kubectl(&["delete", "serviceimports.mc-wan.l7mp.io", "fleeting"]).await.unwrap();
        let config_maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        until(SOON, "what the import owned is gone", async || Ok(config_maps.get_opt("owned").await?.is_none()))
            .await
            .unwrap();

        cluster
            .kubectl(&["create", "deployment", "payment", "--image", "registry.invalid/payment", "--replicas", "2"])
            .await
            .unwrap();
        let pods: Api<Pod> = Api::default_namespaced(client);
        let of_payment = ListParams::default().labels("app=payment");
        until(SOON, "there are two pods", async || Ok(pods.list(&of_payment).await?.items.len() == 2)).await.unwrap();
        Ok(())
    })
}

#[test]
fn a_service_account_may_do_what_its_role_says() -> Result<()> {
    on_shared_cluster(async |cluster| {
        for command in [
            "create serviceaccount writer",
            "create role writer --verb=create --resource=configmaps",
            "create rolebinding writer --role=writer --serviceaccount=default:writer",
        ] {
            cluster.kubectl(&command.split(' ').collect::<Vec<_>>()).await.unwrap();
        }
        let writer = cluster.client_for("default", "writer").await.unwrap();
        create(&writer, &mk_config_map("default", "allowed")).await.unwrap();
        let is_forbidden = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 403);
        let error = create(&writer, &mk_config_map("kube-system", "elsewhere")).await.unwrap_err();
        assert!(is_forbidden(&error), "{error}");

        // OwnerReferencesPermissionEnforcement: who blocks an owner's deletion must be able to unblock it.
        let uid = import(cluster, "lasting").await.unwrap();
        create(&writer, &mk_owned("free", "lasting", &uid, false)).await.unwrap();
        let error = create(&writer, &mk_owned("blocking", "lasting", &uid, true)).await.unwrap_err();
        assert!(is_forbidden(&error), "{error}");
        Ok(())
    })
}

#[tokio::test]
async fn the_api_server_can_go_and_come_back() {
    let mut cluster = TestCluster::start_with(&[]).await.unwrap();
    let client = cluster.client();
    create(&client, &mk_config_map("default", "kept")).await.unwrap();
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    cluster.stop_api_server();
    config_maps.get("kept").await.unwrap_err();
    cluster.start_api_server().await.unwrap();
    config_maps.get("kept").await.unwrap();
}

#[tokio::test]
async fn clusters_live_side_by_side_and_leave_nothing_behind() {
    let (one, two) = tokio::join!(TestCluster::start_with(&[]), TestCluster::start_with(&[]));
    let (one, two) = (one.unwrap(), two.unwrap());
    create(&one.client(), &mk_config_map("default", "of-one")).await.unwrap();
    let config_maps: Api<ConfigMap> = Api::default_namespaced(two.client());
    assert_eq!(config_maps.get_opt("of-one").await.unwrap(), None);

    let remains = Remains::of(&one).await;
    assert!(!remains.all().is_empty());
    drop(one);
    assert_eq!(remains.all(), Vec::<String>::new());
    config_maps.list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_killed_process_leaves_nothing_behind() {
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_mcwan-testbed"));
    let mut keeper = keeper.arg("cluster").stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(keeper.stdout.take().unwrap()).lines();
    let kubeconfig = loop {
        let line = lines.next_line().await.unwrap().expect("it prints the kubeconfig");
        if let Some((_, kubeconfig)) = line.split_once("KUBECONFIG=") {
            break PathBuf::from(kubeconfig);
        }
    };
    let remains = Remains::of_kubeconfig(&kubeconfig);
    assert!(remains.all().len() > 3, "a folder, etcd, the API server, the controllers: {:?}", remains.all());
    keeper.kill().await.unwrap();
    until(SOON, "everything of the cluster is gone", async || Ok(remains.all().is_empty())).await.unwrap();
}
