//! The controller's check of the module, against a real OCI registry.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use mcwan::module::{ModuleCheck, ModuleError, ModuleStatus};
use mcwan_core::problem::Reason;
use mcwan_testbed::oci_registry::OciRegistry;
use mcwan_testbed::tools;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::images::{mk_archive, mk_module_of_version};

/// How long a check, and its repetition, may take.
const SOON: Duration = Duration::from_mins(2);

/// The check of an image of a registry by plain HTTP, named as `push` does.
fn mk_check(registry: &OciRegistry, image: &str) -> ModuleCheck {
    ModuleCheck {
        module: format!("oci://{image}").parse().unwrap_or_else(|error| panic!("{image}: {error}")),
        insecure_registries: vec![registry.address().to_string()],
        registry_config: None,
        authorities: None,
    }
}

async fn start() -> Result<OciRegistry> {
    let mut registry = OciRegistry::new()?;
    registry.start().await?;
    Ok(registry)
}

#[tokio::test]
async fn the_shipped_image_passes() -> Result<()> {
    let registry = start().await?;
    let image = registry.push(&tools::image("module")?, "mcwan-filter").await?;
    assert_eq!(mk_check(&registry, &image).once().await, Ok(()));
    Ok(())
}

#[tokio::test]
async fn what_is_not_the_filter_does_not_pass() -> Result<()> {
    let (registry, folder) = (start().await?, TempDir::new()?);
    let module = fs::read(tools::module()?)?;
    let bare = b"\0asm\x01\0\0\0".to_vec();
    for (number, name, content, reason) in [
        (0, "plugin.wasm", module.clone(), None),
        (1, "filter.wasm", module, Some(Reason::NotAModule)),
        (2, "plugin.wasm", b"#!/bin/sh\n".to_vec(), Some(Reason::NotAModule)),
        (3, "plugin.wasm", bare, Some(Reason::NotAModule)),
        (4, "plugin.wasm", mk_module_of_version(1)?, Some(Reason::WireVersionMismatch)),
        (5, "plugin.wasm", mk_module_of_version(-1)?, Some(Reason::WireVersionMismatch)),
    ] {
        let archive = mk_archive(folder.path(), name, &content)?;
        let image = registry.push_layer(&archive, &format!("image-{number}")).await?;
        let result = mk_check(&registry, &image).once().await;
        assert_eq!(result.as_ref().err().map(ModuleError::reason), reason, "image {number}: {result:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_digest_that_the_registry_does_not_have_is_not_found() -> Result<()> {
    let registry = start().await?;
    let image = registry.push(&tools::image("module")?, "mcwan-filter").await?;
    let (name, _) = image.split_once('@').context("a digest")?;
    let other = format!("{name}@sha256:{}", "0".repeat(64));
    let result = mk_check(&registry, &other).once().await;
    assert!(matches!(&result, Err(ModuleError::NotFound(url)) if url.contains("sha256:000")), "{result:?}");
    Ok(())
}

#[tokio::test]
async fn it_heals_once_the_registry_is_back() -> Result<()> {
    let mut registry = start().await?;
    let layout = tools::image("module")?;
    let image = registry.push(&layout, "mcwan-filter").await?;
    registry.stop();
    let mut status = mk_check(&registry, &image).watch();
    let failed = timeout(SOON, status.wait_for(|status| *status != ModuleStatus::Unknown)).await??.clone();
    assert!(matches!(&failed, ModuleStatus::Failed(ModuleError::FetchFailed { .. })), "{failed:?}");
    registry.start().await?;
    // Where it is there again before what it holds is: not found, then found.
    registry.push(&layout, "mcwan-filter").await?;
    timeout(SOON, status.wait_for(|status| *status == ModuleStatus::Ok)).await??;
    Ok(())
}
