//! What the commands read, and what it means.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use mcwan_core::api::DataPlane;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::problem::{Problem, Reason, Severity};
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::finding::Finding;
use mcwan_core::translate::{self, Import, Options, Translation};
use mcwan_policy::limits;
use mcwan_policy::wire::UnknownHosts;

use super::report;
use crate::files;

/// Reasons that an object which could not be read may have given.
const ABSENCES: [Reason; 5] =
    [Reason::BackendNotFound, Reason::ClusterNotFound, Reason::NoBackend, Reason::NoTier, Reason::RefNotPermitted];

/// The files of a command.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// Files, folders (their .yaml, .yml and .json files), or - for standard input
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
}

/// What the files of a command mean, as far as they could be read.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) gathered: Gathered,
    pub(super) translation: Translation,
    pub(super) plugin: Plugin,
}

/// What is wrong with the files, by file and line.
#[derive(Debug)]
pub(super) struct Findings(pub(super) Vec<Finding>);

/// What brings a gateway its config, which has to have room for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carrier {
    /// A file that Envoy reads.
    File,
    /// An object of the API server.
    WasmPlugin,
}

impl Carrier {
    /// How many bytes the config of these imports may have. Those of several namespaces have a gateway each, and native ones
    /// need no room, but are explained as if all shared one: then nothing is too large that has room where it belongs.
    fn most_bytes(self, imports: &[Import]) -> usize {
        let first = imports.first().map(|import| &import.key.namespace);
        let needs_room =
            |import: &Import| first == Some(&import.key.namespace) && import.data_plane != Some(DataPlane::Native);
        let is_of_one = imports.iter().all(needs_room);
        match self {
            Self::WasmPlugin if is_of_one => limits::WASM_PLUGIN_CONFIG_BYTES,
            Self::WasmPlugin | Self::File => limits::CONFIG_BYTES,
        }
    }
}

impl Files {
    /// Reads the files.
    pub(super) fn gather(&self) -> Gathered {
        files::from_paths(&self.files)
    }

    /// The same; objects that name no namespace are in this one.
    pub(super) fn gather_in(&self, namespace: &str) -> Gathered {
        files::from_paths_in(&self.files, namespace)
    }

    pub(super) fn read(
        &self,
        options: &Options,
        serves: impl Fn(&Import) -> bool,
        unknown_hosts: UnknownHosts,
    ) -> anyhow::Result<Input> {
        Input::new(self.gather(), options, serves, unknown_hosts, Carrier::WasmPlugin)
    }
}

impl Input {
    /// What was read, as one gateway sees it that serves these imports.
    pub(super) fn new(
        gathered: Gathered,
        options: &Options,
        serves: impl Fn(&Import) -> bool,
        unknown_hosts: UnknownHosts,
        carrier: Carrier,
    ) -> anyhow::Result<Self> {
        let mut translation = translate::translate(&gathered.snapshot, options);
        translation.imports.retain(serves);
        let bytes = carrier.most_bytes(&translation.imports);
        let plugin = Plugin::for_module(&translation.imports, unknown_hosts, "", bytes, None)
            .context("there is no config for the filter")?;
        Ok(Self { gathered, translation, plugin })
    }

    /// Everything that is wrong, and what else is.
    pub(super) fn findings(&self, more: Vec<Problem>) -> Findings {
        let shared = self.plugin.problems(&self.translation.imports);
        Findings::new(&self.gathered, self.translation.problems.iter().cloned().chain(shared).chain(more))
    }
}

impl Findings {
    /// What is wrong with the files, and what follows from them.
    pub(super) fn new(gathered: &Gathered, problems: impl IntoIterator<Item = Problem>) -> Self {
        let is_complete = gathered.is_complete();
        let told_apart = problems.into_iter().filter(|problem| is_complete || !ABSENCES.contains(&problem.reason));
        let mut findings = gathered.findings.clone();
        findings.extend(told_apart.map(|problem| gathered.locate(problem)));
        findings.sort_by(|left, right| left.place.cmp(&right.place));
        Self(findings)
    }

    /// How many there are of a severity.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.0.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Prints them for people.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.0.iter().try_for_each(|finding| report::text(out, finding))
    }
}
