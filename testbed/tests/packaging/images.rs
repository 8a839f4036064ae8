//! The images that `cargo xtask image` writes, pushed to a real OCI registry and pulled from it.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use mcwan_testbed::child::mortal;
use mcwan_testbed::loopback::Loopback;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::run;

/// An OCI registry that forgets; it ends when this is dropped.
struct OciRegistry {
    address: SocketAddr,
    _child: Child,
    _loopback: Loopback,
}

impl OciRegistry {
    async fn start() -> Result<Self> {
        let loopback = Loopback::take()?;
        let address = SocketAddr::from((loopback.address(), 5000));
        let mut crane = mortal(tools::program("crane")?);
        crane.args(["registry", "serve", "--address", &address.to_string()]);
        crane.stdout(Stdio::null()).stderr(Stdio::null());
        let child = Command::from(crane).kill_on_drop(true).spawn().context("cannot start crane")?;
        until(Duration::from_mins(1), "the OCI registry listens", async || Ok(TcpStream::connect(address).is_ok()))
            .await?;
        Ok(Self { address, _child: child, _loopback: loopback })
    }

    /// Pushes a layout. Returns what it is pulled by.
    async fn push(&self, layout: &Path, name: &str) -> Result<String> {
        let tag = format!("{}/{name}:test", self.address);
        let reference = crane(&["push", path(layout)?, &tag]).await?;
        Ok(reference.trim().to_owned())
    }
}

async fn crane(arguments: &[&str]) -> Result<String> {
    run(Command::new(tools::program("crane")?).args(arguments).arg("--insecure")).await
}

/// Pulls an image and unpacks it into a folder.
async fn unpack(reference: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("image.tar");
    crane(&["export", reference, path(&archive)?]).await?;
    let content = TempDir::new()?;
    run(Command::new("tar").args(["--extract", "--file"]).arg(&archive).arg("--directory").arg(content.path())).await?;
    Ok(content)
}

fn files(folder: &Path) -> Result<Vec<String>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// The digest that a layout gives its image.
fn digest(layout: &Path) -> Result<String> {
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let digest = index["manifests"][0]["digest"].as_str();
    Ok(digest.context("the layout has no image")?.to_owned())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not text")
}

#[tokio::test]
async fn the_module_is_pulled_by_its_digest_in_the_form_that_gateways_take() -> Result<()> {
    let registry = OciRegistry::start().await?;
    let layout = tools::image("module")?;
    let reference = registry.push(&layout, "mcwan-filter").await?;
    assert_eq!(reference, format!("{}/mcwan-filter@{}", registry.address, digest(&layout)?));
    crane(&["validate", "--remote", &reference]).await?;
    let manifest: Value = serde_json::from_str(&crane(&["manifest", &reference]).await?)?;
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.oci.image.config.v1+json");
    let layers = manifest["layers"].as_array().context("no layers")?;
    let media_types: Vec<_> = layers.iter().map(|layer| &layer["mediaType"]).collect();
    assert_eq!(media_types, ["application/vnd.oci.image.layer.v1.tar+gzip"]);
    let content = unpack(&reference).await?;
    assert_eq!(files(content.path())?, ["plugin.wasm"]);
    assert!(fs::read(content.path().join("plugin.wasm"))? == fs::read(tools::module()?)?, "another module");
    Ok(())
}

#[tokio::test]
async fn the_controller_runs_in_its_image_which_holds_nothing_else() -> Result<()> {
    let registry = OciRegistry::start().await?;
    let layout = tools::image("controller")?;
    let reference = registry.push(&layout, "mcwan").await?;
    assert_eq!(reference, format!("{}/mcwan@{}", registry.address, digest(&layout)?));
    crane(&["validate", "--remote", &reference]).await?;
    let config: Value = serde_json::from_str(&crane(&["config", &reference]).await?)?;
    assert_eq!(config["config"], json!({"User": "65532:65532", "Entrypoint": ["/mcwan"]}));
    let content = unpack(&reference).await?;
    assert_eq!(files(content.path())?, ["mcwan"]);
    let mut chroot = Command::new("chroot");
    chroot.arg("--userspec=65532:65532").arg(content.path()).args(["/mcwan", "--version"]);
    // The folder is ours alone until then.
    run(Command::new("chmod").arg("755").arg(content.path())).await?;
    let version = run(&mut chroot).await?;
    assert_eq!(version.trim(), format!("mcwan {}", env!("CARGO_PKG_VERSION")));
    Ok(())
}
