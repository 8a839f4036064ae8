//! The image of the filter module.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::layer::Layer;
use super::layout::Image;
use crate::setup::{self, WASM_TARGET};

/// The name of the file that istio-agent looks for (its "compat" form; a layer of a media type for
/// Wasm it refuses where it is alone).
const FILE: &str = "plugin.wasm";

/// Builds the module and puts it into an image.
pub(crate) fn image(tools: &Path) -> Result<Image> {
    setup::rust_target(WASM_TARGET)?;
    let module = crate::module::build(tools)?;
    let content = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
    let layer = Layer::new(FILE, 0o644, &content)?;
    Ok(Image { title: "mcwan-filter", os: "wasip1", architecture: "wasm", run: json!({}), layer })
}
