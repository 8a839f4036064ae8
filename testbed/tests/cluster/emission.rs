//! The objects that come of the examples, and of what the examples do not show, on a real API server: it takes each of
//! them, and adds nothing inside of what we own, so that what is read back can be compared with what was written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings, everything};
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::tools;
use serde_json::{Value, json};
use tokio::process::Command;

/// The files with all objects of an example; `cargo xtask generate` writes them.
fn golden() -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../controller/tests/golden/kubernetes");
    let files: std::io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    Ok(files?)
}

fn objects(file: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(file)?;
    text.split("---\n").map(|document| Ok(serde_saphyr::from_str(document)?)).collect()
}

/// The objects of `unusual.yaml`.
fn unusual(data_plane: DataPlane) -> Vec<Value> {
    let gathered = Gathered::from_text("unusual.yaml", include_str!("emission/unusual.yaml"));
    assert!(gathered.is_complete(), "{:?}", gathered.findings);
    let options = Options {
        cluster: Some("cluster-2".to_owned()),
        steering_key: "0123456789abcdef".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    };
    let settings = Settings {
        cluster: options.cluster.clone(),
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module: Module { url: "https://example.com/filter.wasm".to_owned(), sha256: Some("0".repeat(64)) },
        data_plane,
        filter: FilterKind::default(),
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: true,
    };
    let mut translator = Translator::new(options);
    translator.update(&gathered.snapshot, &[Change::Everything]);
    let (objects, _) = everything(&translator, &gathered.snapshot, &settings);
    objects.into_iter().map(|object| object.body).collect()
}

/// Applies an object, and gives what the API server made of it.
async fn apply(cluster: &TestCluster, object: &Value) -> Result<Value> {
    let kind =
        Kind::ALL.into_iter().find(|kind| object["kind"] == kind.name()).context("a kind that we do not write")?;
    let namespace = object["metadata"]["namespace"].as_str().context("no namespace")?;
    let name = object["metadata"]["name"].as_str().context("no name")?;
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), namespace, &kind.api_resource());
    let live = api.patch(name, &PatchParams::apply("mcwan"), &Patch::Apply(object)).await?;
    Ok(serde_json::to_value(live)?)
}

/// The first place where something that was sent is not as it was: fields may be added beside ours, but a list is
/// ours whole.
fn difference(sent: &Value, live: &Value, place: &str) -> Option<String> {
    match (sent, live) {
        (Value::Object(sent), Value::Object(live)) => sent.iter().find_map(|(field, value)| {
            difference(value, live.get(field).unwrap_or(&Value::Null), &format!("{place}.{field}"))
        }),
        _ if sent == live => None,
        _ => Some(format!("{place}: sent {sent}, live {live}")),
    }
}

#[tokio::test]
async fn an_api_server_takes_every_object_as_it_is() {
    let cluster = TestCluster::start().await.unwrap();
    for name in ["mc-wan", "mc-wan-registry", "secure"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.apply(&namespace.to_string()).await.unwrap();
    }
    let examples = golden().unwrap().into_iter().map(|file| (file.display().to_string(), objects(&file).unwrap()));
    let unusual = [DataPlane::Wasm, DataPlane::Native].map(|plane| (format!("unusual, {plane:?}"), unusual(plane)));
    for (file, objects) in examples.chain(unusual) {
        for object in objects {
            let what = format!("{file}: {} {}", object["kind"], object["metadata"]["name"]);
            let live = apply(&cluster, &object).await.unwrap_or_else(|error| panic!("{what}: {error:#}"));
            assert_eq!(difference(&object, &live, ""), None, "{what}");
        }
    }
}

#[tokio::test]
async fn istio_finds_nothing_to_complain_about() {
    for file in golden().unwrap() {
        let mut istioctl = Command::new(tools::program("istioctl").unwrap());
        let output = istioctl.args(["validate", "-f"]).arg(&file).output().await.unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {complaint}", file.display());
        assert!(!complaint.contains("arning"), "{}: {complaint}", file.display());
    }
}
