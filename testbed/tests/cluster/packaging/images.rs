//! The images that `cargo xtask image` writes, pushed to a real OCI registry and pulled from it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::run;

/// Pushes the image of `kind` and checks that it is what the layout says. Returns what it is pulled by.
pub(super) async fn push(registry: &OciRegistry, kind: &str) -> Result<String> {
    let layout = tools::image(kind)?;
    let reference = registry.push(&layout, kind).await?;
    assert_eq!(reference, format!("{}/{kind}@{}", registry.address(), digest(&layout)?));
    crane(&["validate", "--remote", &reference]).await?;
    Ok(reference)
}

async fn crane(arguments: &[&str]) -> Result<String> {
    run(Command::new(tools::program("crane")?).args(arguments).arg("--insecure")).await
}

/// As whom an image runs: `USER:GROUP`, of which a kubelet wants the numbers where nobody may be root.
pub(super) async fn user(reference: &str) -> Result<String> {
    let config: Value = serde_json::from_str(&crane(&["config", reference]).await?)?;
    let user = config["config"]["User"].as_str().context("the image names no user")?;
    let is_nobody_special = |id: &str| id.parse::<u32>().is_ok_and(|id| id > 0);
    assert!(user.split(':').all(is_nobody_special), "{user}");
    Ok(user.to_owned())
}

/// Pulls an image and unpacks it into a folder that is open to all users.
pub(super) async fn unpack(reference: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("image.tar");
    crane(&["export", reference, path(&archive)?]).await?;
    let content = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir()?;
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
    let mut registry = OciRegistry::new()?;
    registry.start().await?;
    let reference = push(&registry, "module").await?;
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
    let mut registry = OciRegistry::new()?;
    registry.start().await?;
    let reference = push(&registry, "controller").await?;
    let config: Value = serde_json::from_str(&crane(&["config", &reference]).await?)?;
    assert_eq!(config["config"], json!({"User": "65532:65532", "Entrypoint": ["/mcwan"]}));
    let content = unpack(&reference).await?;
    assert_eq!(files(content.path())?, ["mcwan"]);
    assert!(fs::read(content.path().join("mcwan"))? == fs::read(tools::controller()?)?, "another controller");
    let mut chroot = Command::new("chroot");
    chroot.arg("--userspec=65532:65532").arg(content.path()).args(["/mcwan", "--version"]);
    let version = run(&mut chroot).await?;
    assert_eq!(version.trim(), format!("mcwan {}", env!("CARGO_PKG_VERSION")));
    Ok(())
}
