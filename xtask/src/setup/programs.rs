//! The programs that are built from Go modules.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::cache::Cache;
use super::go::{self, Go};
use super::links;

/// A go.mod and what is built of it.
struct Module {
    /// A folder of `testbed/tools`.
    name: &'static str,
    /// The variable that is told a version, and the dependency whose version it is.
    version: (&'static str, &'static str),
    /// The programs and their packages, the quickest first.
    programs: &'static [(&'static str, &'static str)],
}

const MODULES: [Module; 3] = [
    Module {
        name: "kubernetes",
        version: ("k8s.io/component-base/version.gitVersion", "k8s.io/kubernetes"),
        programs: &[
            ("crane", "github.com/google/go-containerregistry/cmd/crane"),
            ("etcd", "go.etcd.io/etcd/server/v3"),
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
            ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("istioctl", "istio.io/istio/istioctl/cmd/istioctl"),
            ("pilot-agent", "istio.io/istio/pilot/cmd/pilot-agent"),
            ("pilot-discovery", "istio.io/istio/pilot/cmd/pilot-discovery"),
        ],
    },
    Module {
        name: "coredns",
        version: ("github.com/coredns/coredns/coremain.GitCommit", "github.com/coredns/coredns"),
        programs: &[("coredns", "github.com/coredns/coredns")],
    },
    Module {
        name: "helm",
        version: ("helm.sh/helm/v4/internal/version.version", "helm.sh/helm/v4"),
        programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    },
];

/// The programs that people who develop with kubebuilder have.
const KUBEBUILDER: [&str; 2] = ["etcd", "kube-apiserver"];

/// Makes `bin/NAME` in `tools` point to each program, built where that has not been done yet.
pub(super) fn install(tools: &Path, go: &Go) -> Result<()> {
    let bin = tools.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let kubebuilder = std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty());
    for module in &MODULES {
        let folder = folder(module.name);
        let (variable, dependency) = module.version;
        let ld_flags = format!("-s -w -X {variable}={}", go::version(&folder, dependency)?);
        let flags = ["-trimpath", "-ldflags", &ld_flags];
        let cache = cache(module.name, module.name, &flags)?;
        for (name, package) in module.programs {
            let program = match &kubebuilder {
                Some(assets) if KUBEBUILDER.contains(name) => from_kubebuilder(assets, name)?,
                _ => cache.get(name, |output| timed(name, || go.build(&folder, &flags, package, output)))?,
            };
            links::point(&bin.join(name), &program)?;
        }
    }
    Ok(())
}

/// The folder of a go.mod.
pub(super) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbed/tools").join(name)
}

/// The cache `name` for what is made of the go.mod in the folder `module` and of `more`.
pub(super) fn cache(name: &str, module: &str, more: &[&str]) -> Result<Cache> {
    let folder = folder(module);
    let read = |file: &str| fs::read(folder.join(file)).with_context(|| format!("cannot read {module}'s {file}"));
    Cache::new(name, &[&read("go.mod")?, &read("go.sum")?, more.join("\n").as_bytes()])
}

fn from_kubebuilder(assets: &OsStr, name: &str) -> Result<PathBuf> {
    let program = Path::new(assets).join(name);
    ensure!(program.exists(), "{} is missing: unset KUBEBUILDER_ASSETS, and it is built", program.display());
    Ok(program)
}

/// Builds, saying what and how long it took.
fn timed(name: &str, build: impl FnOnce() -> Result<()>) -> Result<()> {
    eprint!("setup: building {name} with Go, once ...");
    std::io::stderr().flush()?;
    let start = Instant::now();
    let result = build();
    eprintln!(" {:.1} s", start.elapsed().as_secs_f64());
    result
}
