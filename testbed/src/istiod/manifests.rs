//! What `istioctl` would install, made to fit a cluster whose programs are no pods.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Settings, WEBHOOK_PORT, agent_address};
use crate::network::Network;
use crate::tools;

/// What is not applied: the custom resources, which are there, and what there are no pods for. Nobody asks for
/// sidecars.
const SKIPPED: [&str; 4] =
    ["CustomResourceDefinition", "Deployment", "HorizontalPodAutoscaler", "MutatingWebhookConfiguration"];

/// How long a gateway that ends lets its connections end, and a listener that changes its old ones: short, as
/// tests wait for it.
const DRAIN: &str = "2s";

/// What an istiod needs.
#[derive(Debug)]
pub(super) struct Manifests {
    /// The objects to apply.
    pub(super) objects: String,
    /// The files that it reads: their paths in its folder, and their contents.
    pub(super) files: Vec<(&'static str, String)>,
}

impl Manifests {
    /// Asks `istioctl`.
    pub(super) async fn generate(network: Network, settings: &Settings) -> Result<Self> {
        let mut istioctl = Command::new(tools::program("istioctl")?);
        istioctl.args(["manifest", "generate", "--set", "profile=minimal", "--set", "values.defaultRevision=default"]);
        let output =
            istioctl.stdin(Stdio::null()).kill_on_drop(true).output().await.context("cannot start istioctl")?;
        ensure!(output.status.success(), "istioctl failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        let documents = String::from_utf8(output.stdout)?;
        let mut manifests = Self { objects: String::new(), files: Vec::new() };
        for document in documents.split("\n---\n").filter(|document| is_wanted(document)) {
            let mut object: Value = serde_saphyr::from_str(document)?;
            match (text(&object, "/kind"), text(&object, "/metadata/name")) {
                ("ValidatingWebhookConfiguration", _) => fit_webhooks(&mut object, network),
                ("ConfigMap", "istio") => {
                    let mesh = mesh(text(&object, "/data/mesh"), network, settings)?;
                    manifests.files.push(("etc/istio/config/mesh", mesh.to_string()));
                    let networks = text(&object, "/data/meshNetworks").to_owned();
                    manifests.files.push(("etc/istio/config/meshNetworks", networks));
                    object["data"]["mesh"] = Value::String(mesh.to_string());
                }
                ("ConfigMap", "istio-sidecar-injector") => {
                    let mut values: Value = serde_json::from_str(text(&object, "/data/values"))?;
                    values["global"]["caAddress"] = Value::String(agent_address(network));
                    let config = text(&object, "/data/config").to_owned();
                    manifests.files.push(("var/lib/istio/inject/config", config));
                    manifests.files.push(("var/lib/istio/inject/values", values.to_string()));
                    object["data"]["values"] = Value::String(values.to_string());
                }
                _ => {}
            }
            manifests.objects.extend([&*object.to_string(), "\n---\n"]);
        }
        ensure!(manifests.files.len() == 4, "istioctl does not print what istiod reads");
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": super::NAMESPACE}});
        manifests.objects.insert_str(0, &format!("{namespace}\n---\n"));
        Ok(manifests)
    }
}

fn is_wanted(document: &str) -> bool {
    let kind = document.lines().find_map(|line| line.strip_prefix("kind: "));
    kind.is_some_and(|kind| !SKIPPED.contains(&kind.trim()))
}

/// The mesh as it is printed, but for what depends on where things are. Its default providers of metrics need a
/// filter that upstream Envoy lacks.
fn mesh(printed: &str, network: Network, settings: &Settings) -> Result<Value> {
    let mut mesh: Value = serde_saphyr::from_str(printed)?;
    if let Some(fields) = mesh.as_object_mut() {
        fields.remove("defaultProviders");
    }
    mesh["defaultConfig"] = json!({
        "discoveryAddress": agent_address(network),
        "binaryPath": tools::envoy()?,
        "configPath": "./etc/istio/proxy",
        "concurrency": 1,
        "drainDuration": DRAIN,
        "terminationDrainDuration": DRAIN,
        "proxyMetadata": {
            "WASM_INSECURE_REGISTRIES": settings.insecure_registries.join(","),
            // Else the agent asks for two seconds whose machine it is on.
            "CLOUD_PLATFORM": "none",
        },
    });
    Ok(mesh)
}

/// Services have no addresses here that lead anywhere.
fn fit_webhooks(configuration: &mut Value, network: Network) {
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let path = text(webhook, "/clientConfig/service/path").to_owned();
        webhook["clientConfig"] = json!({"url": format!("https://{}:{WEBHOOK_PORT}{path}", network.control_plane())});
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
