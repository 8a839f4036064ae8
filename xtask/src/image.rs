//! The images that are shipped, as OCI image layouts: the same bytes, and so the same digests, on
//! every build.

mod controller;
mod digest;
mod layer;
mod layout;
mod module;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::spelling;

/// What there is an image of.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImageKind {
    /// The filter module, in the form that istio-agent takes.
    Module,
    /// The controller, a static binary and nothing else.
    Controller,
}

/// Builds what is asked for and writes each image to `images/KIND` in `tools`. Prints how to push it.
pub(crate) fn run(tools: &Path, kinds: &[ImageKind]) -> Result<()> {
    let kinds = if kinds.is_empty() { ImageKind::value_variants() } else { kinds };
    for kind in kinds {
        let image = match kind {
            ImageKind::Module => module::image(tools),
            ImageKind::Controller => controller::image(tools),
        }?;
        let folder = tools.join("images").join(spelling(kind));
        let digest = image.write(&folder)?;
        println!("{digest}");
        println!("    crane push {} HOST/{}:{}", folder.display(), image.title, env!("CARGO_PKG_VERSION"));
    }
    Ok(())
}
