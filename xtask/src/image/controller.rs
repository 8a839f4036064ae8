//! The image of the controller: a static binary on an empty base.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::layer::Layer;
use super::layout::Image;

/// A user without a name; the number that distroless images made usual.
const USER: &str = "65532:65532";

/// Builds the controller for this machine's architecture and puts it into an image.
pub(crate) fn image(tools: &Path) -> Result<Image> {
    let architecture = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("there is no image of the controller for {other}: build on x86_64 or aarch64"),
    };
    let binary = crate::controller::build(tools)?;
    let content = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    Ok(Image {
        title: "mcwan",
        os: "linux",
        architecture,
        run: json!({"User": USER, "Entrypoint": ["/mcwan"]}),
        layer: Layer::new("mcwan", 0o755, &content)?,
    })
}
