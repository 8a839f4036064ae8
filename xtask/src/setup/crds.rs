//! Other projects' custom resource definitions, as their Go modules hold them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::go::Go;
use super::{links, programs};

/// The go.mod that pins what has no version here.
const MODULE: &str = "kubernetes";

/// A folder of ours, the module that it comes from, and where in it.
const SOURCES: [(&str, &str, &str); 5] = [
    ("gateway-api", "sigs.k8s.io/gateway-api", "config/crd/standard"),
    ("istio", "istio.io/api", "kubernetes"),
    ("mcs-v1alpha1", "sigs.k8s.io/mcs-api", "config/crd"),
    ("mcs-v1beta1", "sigs.k8s.io/mcs-api@v0.5.2", "config/crd"),
    ("openshift", "github.com/openshift/api@v0.0.0-20260501191448-a49973eaef53", "route/v1/zz_generated.crd-manifests"),
];

/// Makes `crds` in `tools` point to the definitions.
pub(super) fn install(tools: &Path, go: &Go) -> Result<()> {
    let sources = SOURCES.map(|(name, module, folder)| format!("{name} {module} {folder}"));
    let cache = programs::cache("crds", MODULE, &sources.each_ref().map(String::as_str))?;
    let crds = cache.get("all", |output| {
        eprintln!("setup: fetching the custom resource definitions of others");
        for (name, module, folder) in SOURCES {
            let source = go.source(&programs::folder(MODULE), module)?.join(folder);
            copy_yaml(&source, &output.join(name))
                .with_context(|| format!("cannot copy the definitions of {}", source.display()))?;
        }
        Ok(())
    })?;
    links::point(&tools.join("crds"), &crds)
}

fn copy_yaml(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let file = entry?.path();
        if file.extension() == Some(OsStr::new("yaml"))
            && let Some(name) = file.file_name()
        {
            fs::copy(&file, to.join(name))?;
        }
    }
    Ok(())
}
