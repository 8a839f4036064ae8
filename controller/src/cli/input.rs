//! What the commands read, and what it means.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::report;
use crate::gather::files::Gathered;
use crate::gather::finding::Finding;
use crate::problem::Severity;
use crate::translate::{self, Options, Translation};

/// Reasons that an object which could not be read may have given.
const ABSENCES: [&str; 4] = ["BackendNotFound", "ClusterNotFound", "NoBackend", "RefNotPermitted"];

/// The files of a command.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// Files, folders (their .yaml, .yml and .json files), or - for standard input
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,
}

/// What the files of a command mean.
#[derive(Debug)]
pub(super) struct Input {
    /// Of the objects that could be read.
    pub(super) translation: Translation,
    /// Whether every object could be read. What is computed from less may allow what a missing object forbids.
    pub(super) is_complete: bool,
    /// Everything that is wrong, by file and line.
    pub(super) findings: Vec<Finding>,
}

impl Files {
    pub(super) fn read(&self, options: &Options) -> Input {
        let gathered = Gathered::from_paths(&self.files);
        let is_complete = gathered.is_complete();
        let mut translation = translate::translate(&gathered.snapshot, options);
        let problems = std::mem::take(&mut translation.problems).into_iter();
        let told_apart = problems.filter(|problem| is_complete || !ABSENCES.contains(&problem.reason));
        let mut findings: Vec<_> = told_apart.map(|problem| gathered.locate(problem)).collect();
        findings.extend(gathered.findings);
        findings.sort_by(|left, right| left.place.cmp(&right.place));
        Input { translation, is_complete, findings }
    }
}

impl Input {
    /// How many findings there are of a severity.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Prints the findings for people.
    pub(super) fn report(&self, out: &mut impl Write) -> io::Result<()> {
        self.findings.iter().try_for_each(|finding| report::text(out, finding))
    }
}
