//! The image of the controller: a static binary on an empty base.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::layer::Layer;
use super::layout::Image;
use crate::reproducible::Reproducible;
use crate::{process, setup};

/// A user without a name; the number that distroless images made usual.
const USER: &str = "65532:65532";

/// Builds the controller for this machine's architecture and puts it into an image.
pub(crate) fn image(tools: &Path) -> Result<Image> {
    let architecture = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("there is no image of the controller for {other}: build on x86_64 or aarch64"),
    };
    let target = format!("{ARCH}-unknown-linux-musl");
    setup::rust_target(&target)?;
    let target_dir = tools.join("build");
    eprintln!("image: the controller, for {target}");
    let mut cargo = process::cargo();
    cargo.args(["build", "--package", "mcwan", "--bin", "mcwan", "--release", "--target", &target]);
    cargo.arg("--target-dir").arg(&target_dir);
    // The C in it needs nothing of the C library but what every one has: the host's compiler will do.
    cargo.env(format!("CC_{}", target.replace('-', "_")), "cc");
    let reproducible = Reproducible::new(&target_dir)?;
    process::prepare(reproducible.apply(&mut cargo), "start me as `cargo xtask`")?;
    let binary = target_dir.join(target).join("release/mcwan");
    let content = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    reproducible.check(&content).with_context(|| format!("{} differs by machine", binary.display()))?;
    Ok(Image {
        title: "mcwan",
        os: "linux",
        architecture,
        run: json!({"User": USER, "Entrypoint": ["/mcwan"]}),
        layer: Layer::new("mcwan", 0o755, &content)?,
    })
}
