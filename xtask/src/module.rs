//! Builds the filter module as it ships.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use walrus::Module;

use crate::process::{self, START_WITH_CARGO};
use crate::reproducible::Reproducible;
use crate::setup::WASM_TARGET;

/// What the shipped module exports. A host calls every callback that it finds, and each call costs
/// CPU on each request: the SDK's other callbacks go.
const EXPORTS: [&str; 10] = [
    "memory",
    "_initialize",
    "proxy_abi_version_0_2_1",
    "proxy_on_configure",
    "proxy_on_context_create",
    "proxy_on_delete", // without it the SDK leaks a context per request
    "proxy_on_http_call_response",
    "proxy_on_memory_allocate",
    "proxy_on_request_headers",
    "proxy_on_tick",
];

/// What has another name until it is shipped: the SDK exports a callback of that name, which traps on what it does not know.
const RENAMED: (&str, &str) = ("mcwan_on_http_call_response", "proxy_on_http_call_response");

/// Builds the filter and writes it, stripped, to `mcwan-filter.wasm` in `tools`. Returns that file.
pub(crate) fn build(tools: &Path) -> Result<PathBuf> {
    // A target folder of its own: so its place is known, and host builds need not wait for it.
    let target_dir = tools.join("build");
    eprintln!("build: the filter, for {WASM_TARGET}");
    let mut cargo = process::cargo();
    cargo.args(["build", "--package", "mcwan-filter", "--profile", "wasm", "--target", WASM_TARGET]);
    cargo.arg("--target-dir").arg(&target_dir);
    let reproducible = Reproducible::new(&target_dir)?;
    process::prepare(reproducible.apply(&mut cargo), START_WITH_CARGO)?;
    let built = target_dir.join(WASM_TARGET).join("wasm/mcwan_filter.wasm");
    let before = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
    let after = strip(&before).with_context(|| format!("cannot strip {}", built.display()))?;
    reproducible.check(&after)?;
    let shipped = tools.join("mcwan-filter.wasm");
    fs::write(&shipped, &after).with_context(|| format!("cannot write {}", shipped.display()))?;
    eprintln!("build: {} ({} KiB, {} KiB unstripped)", shipped.display(), kib(&after), kib(&before));
    Ok(shipped)
}

/// Removes every export that is not needed, and all that only those used.
fn strip(module: &[u8]) -> Result<Vec<u8>> {
    let mut module = Module::from_buffer(module)?;
    rename(&mut module)?;
    let (needed, unused): (Vec<_>, Vec<_>) =
        module.exports.iter().partition(|export| EXPORTS.contains(&export.name.as_str()));
    for name in EXPORTS {
        ensure!(needed.iter().any(|export| export.name == name), "it does not export `{name}`");
    }
    let unused: Vec<_> = unused.iter().map(|export| export.id()).collect();
    for export in unused {
        module.exports.delete(export);
    }
    walrus::passes::gc::run(&mut module);
    Ok(module.emit_wasm())
}

/// Puts a callback of ours in the place of the SDK's.
fn rename(module: &mut Module) -> Result<()> {
    let (built, shipped) = RENAMED;
    let find = |module: &Module, name: &str| {
        let export = module.exports.iter().find(|export| export.name == name).map(walrus::Export::id);
        export.with_context(|| format!("it does not export `{name}`"))
    };
    let replaced = find(module, shipped)?;
    module.exports.delete(replaced);
    let ours = find(module, built)?;
    shipped.clone_into(&mut module.exports.get_mut(ours).name);
    Ok(())
}

fn kib(module: &[u8]) -> usize {
    module.len().div_ceil(1024)
}
