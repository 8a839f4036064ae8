//! From files to a [`Snapshot`].

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Snapshot;
use super::document::Reader;
use super::documents::documents;
use super::finding::{Finding, Place};
use super::item::Places;
use crate::problem::{Problem, Severity};

/// Bytes of one file.
const FILE_BYTES: u64 = 64 << 20;
/// Documents of one run: some for each of the imports that a gateway may have.
const DOCUMENTS: usize = 200_000;
/// The files of a folder that are read.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
/// The path that stands for standard input.
const STDIN: &str = "-";

/// What files hold, and what is wrong with them.
#[derive(Debug)]
pub struct Gathered {
    /// The sound objects.
    pub snapshot: Snapshot,
    /// What is wrong, in the order of files and documents.
    pub findings: Vec<Finding>,
    places: Places,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the folder has no .yaml, .yml or .json file")]
    EmptyFolder,
    #[error("the file has more than {FILE_BYTES} bytes")]
    TooLarge,
    #[error("the file is not UTF-8")]
    NotUtf8 {
        /// The first line that is not.
        line: usize,
    },
    #[error("there are more than {DOCUMENTS} documents")]
    TooMany,
}

impl Gathered {
    /// Reads files, folders (their `.yaml`, `.yml` and `.json` files, not those of folders within) and, for `-`,
    /// standard input. A file that is named twice is read once.
    pub fn from_paths<P: AsRef<Path>>(paths: &[P]) -> Self {
        Self::read(paths, Reader::default())
    }

    /// The same; an object that names no namespace is in this one, not in `default`.
    pub fn from_paths_in<P: AsRef<Path>>(paths: &[P], namespace: &str) -> Self {
        Self::read(paths, Reader { namespace: Some(namespace.to_owned()), ..Reader::default() })
    }

    fn read<P: AsRef<Path>>(paths: &[P], mut reader: Reader) -> Self {
        let mut seen = HashSet::new();
        for path in paths {
            let path = path.as_ref();
            match expand(path) {
                Ok(files) => {
                    for file in files {
                        if seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                            read_file(&mut reader, &file);
                        }
                    }
                }
                Err(error) => reader.findings.push(error.finding(name(path))),
            }
        }
        Self::new(reader)
    }

    /// Reads the text of one file.
    pub fn from_text(name: &str, text: &str) -> Self {
        let mut reader = Reader::default();
        read_text(&mut reader, &name.into(), text);
        Self::new(reader)
    }

    fn new(reader: Reader) -> Self {
        let Reader { snapshot, findings, places, documents: _, namespace: _ } = reader;
        Self { snapshot, findings, places }
    }

    /// Whether every object is in the snapshot. What is computed from less may allow what a missing object forbids.
    pub fn is_complete(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Error)
    }

    /// Finds the file and line of a problem.
    pub fn locate(&self, problem: Problem) -> Finding {
        self.places.locate(problem)
    }
}

/// The file itself, or the files of a folder in the order of their names.
fn expand(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() { Err(FileError::EmptyFolder) } else { Ok(files) }
}

fn read_file(reader: &mut Reader, path: &Path) {
    let name = name(path);
    match load(path) {
        Ok(text) => read_text(reader, &name, &text),
        Err(error) => reader.findings.push(error.finding(name)),
    }
}

fn load(path: &Path) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    let source: &mut dyn Read = if path == Path::new(STDIN) { &mut io::stdin().lock() } else { &mut File::open(path)? };
    source.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > FILE_BYTES) {
        return Err(FileError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        FileError::NotUtf8 { line: sound.split(|byte| *byte == b'\n').count() }
    })
}

fn read_text(reader: &mut Reader, file: &Arc<str>, text: &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut is_empty = true;
    for document in documents(text) {
        if reader.documents == DOCUMENTS {
            reader.findings.push(FileError::TooMany.finding(Arc::clone(file)));
            return;
        }
        is_empty &= !reader.read(file, document);
    }
    if is_empty {
        let place = Place { file: Arc::clone(file), line: None };
        reader.findings.push(Finding::warning(place, "Empty", "the file holds no object"));
    }
}

fn name(path: &Path) -> Arc<str> {
    if path == Path::new(STDIN) { "<stdin>".into() } else { path.to_string_lossy().into() }
}

impl FileError {
    fn finding(&self, file: Arc<str>) -> Finding {
        let (reason, line, hint) = match self {
            Self::Io(_) | Self::EmptyFolder => ("Unreadable", None, None),
            Self::TooLarge | Self::TooMany => ("TooLarge", None, None),
            Self::NotUtf8 { line } => ("NotUtf8", Some(*line), Some("save it as UTF-8".to_owned())),
        };
        Finding { hint, ..Finding::error(Place { file, line }, reason, self.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces that documents of ours and broken ones are made of.
    const PIECES: [&str; 30] = [
        "apiVersion: mc-wan.l7mp.io/v1alpha1\n",
        "kind: ServiceImport\n",
        "kind: WANPolicy\n",
        "apiVersion: v1\n",
        "kind: List\n",
        "items:\n",
        "metadata: {name: a}\n",
        "spec:\n",
        "  http:\n",
        "    rules:\n",
        "    - matches:\n",
        "      - method: GET\n",
        "  port: 1\n",
        "---\n",
        "- ",
        "  ",
        "\t",
        "\r\n",
        ": ",
        "&a ",
        "*a",
        "<<: *a\n",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "-name: x\n",
        "!!binary x\n",
        "\u{feff}é\0",
    ];

    proptest! {
        #[test]
        fn no_text_is_too_odd(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
            let text = pieces.concat();
            let lines = text.lines().count().max(1);
            for finding in Gathered::from_text("test.yaml", &text).findings {
                let line = finding.place.and_then(|place| place.line);
                prop_assert!(line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{line:?} of {lines}: {text:?}");
            }
        }
    }

    #[test]
    fn a_document_cannot_exhaust_us() {
        let bomb = (1..12)
            .map(|n| format!("a{n}: &a{n} [{}]\n", [format!("*a{}", n - 1), ", ".to_owned()].concat().repeat(10)));
        let table = [
            (format!("a0: &a0 x\n{}", bomb.collect::<String>()), "aliases of aliases"),
            ("[".repeat(100_000), "nested lists"),
            ((0..1_000).map(|n| " ".repeat(n) + "a:\n").collect(), "nested mappings"),
        ];
        for (document, message) in table {
            let reasons: Vec<_> =
                Gathered::from_text("test.yaml", &document).findings.iter().map(|finding| finding.reason).collect();
            assert_eq!(reasons, ["Syntax"], "{message}");
        }
    }
}
