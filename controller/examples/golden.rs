//! Writes `controller/tests/golden/kubernetes`, the objects that come of every example: `cargo xtask generate`.
//!
//! They are committed so that a person sees what a change of the code changes in a cluster. Each example is there
//! twice: as the filter does it, and as plain routes do.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mcwan::files;
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings, everything};
use mcwan_core::emit::yaml;
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};

/// Fixed, so that steering values stay.
const STEERING_KEY: &str = "golden-steering-key";
/// A module that nobody has.
const MODULE: &str =
    "oci://registry.example.com/mcwan-filter@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn main() -> Result<()> {
    let folder = folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (file, content) in golden()? {
        fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Every file with what it holds.
fn golden() -> Result<Vec<(PathBuf, String)>> {
    let mut golden = Vec::new();
    for example in examples()? {
        for (data_plane, ending) in [(DataPlane::Wasm, "yaml"), (DataPlane::Native, "native.yaml")] {
            // What only exports is the same either way.
            if example != "export" || data_plane == DataPlane::Wasm {
                golden.push((folder().join(format!("{example}.{ending}")), render(&example, data_plane)?));
            }
        }
    }
    Ok(golden)
}

fn render(example: &str, data_plane: DataPlane) -> Result<String> {
    let gathered = files::from_paths(&[examples_folder().join(example).join("manifests.yaml")]);
    ensure!(gathered.is_complete(), "{example} cannot be read: {:?}", gathered.findings);
    let cluster = Some(if example == "export" { "cluster-1" } else { "cluster-2" }.to_owned());
    let options = Options {
        cluster: cluster.clone(),
        steering_key: STEERING_KEY.parse()?,
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    };
    let settings = Settings {
        cluster,
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module: Module { url: MODULE.to_owned(), sha256: None },
        data_plane,
        filter: FilterKind::default(),
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: false,
    };
    let mut translator = Translator::new(options);
    translator.update(&gathered.snapshot, &[Change::Everything]);
    let (objects, _) = everything(&translator, &gathered.snapshot, &settings);
    let made_of = format!("# Made by `cargo xtask generate` from examples/{example}.\n");
    Ok(made_of + &yaml::documents(&objects)?)
}

fn examples() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(examples_folder())? {
        let entry = entry?;
        if entry.path().join("manifests.yaml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("examples")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/kubernetes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_files_are_up_to_date() -> Result<()> {
        for (file, content) in golden()? {
            let committed = fs::read_to_string(&file).unwrap_or_default();
            assert!(committed == content, "{} is out of date: run `cargo xtask generate`", file.display());
        }
        Ok(())
    }

    #[test]
    fn the_folder_holds_nothing_else() -> Result<()> {
        let mut expected: Vec<_> = golden()?.into_iter().map(|(file, _)| file).collect();
        let entries: std::io::Result<Vec<_>> = fs::read_dir(folder())?.map(|entry| Ok(entry?.path())).collect();
        let mut found = entries?;
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        Ok(())
    }
}
