//! From files to a [`Snapshot`](mcwan_core::snapshot::Snapshot).

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcwan_core::problem::Reason;
use mcwan_core::snapshot::finding::{Finding, Place};
use mcwan_core::snapshot::{Gathered, Reader};

/// Bytes of one file.
const FILE_BYTES: u64 = 64 << 20;
/// The files of a folder that are read.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
/// The path that stands for standard input.
const STDIN: &str = "-";

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
}

/// Reads files, folders (their `.yaml`, `.yml` and `.json` files, not those of folders within) and, for `-`, standard
/// input. A file that is named twice is read once.
pub fn from_paths<P: AsRef<Path>>(paths: &[P]) -> Gathered {
    read(paths, Reader::default())
}

/// The same; an object that names no namespace is in this one, not in `default`.
pub fn from_paths_in<P: AsRef<Path>>(paths: &[P], namespace: &str) -> Gathered {
    read(paths, Reader::new(Some(namespace)))
}

fn read<P: AsRef<Path>>(paths: &[P], mut reader: Reader) -> Gathered {
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
            Err(error) => reader.report(error.finding(name(path))),
        }
    }
    reader.finish()
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
        Ok(text) => reader.read(&name, &text),
        Err(error) => reader.report(error.finding(name)),
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
        let sound = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        FileError::NotUtf8 { line: 1 + sound.filter(|byte| **byte == b'\n').count() }
    })
}

fn name(path: &Path) -> Arc<str> {
    if path == Path::new(STDIN) { "<stdin>".into() } else { path.to_string_lossy().into() }
}

impl FileError {
    fn finding(&self, file: Arc<str>) -> Finding {
        let (reason, line, hint) = match self {
            Self::Io(_) | Self::EmptyFolder => (Reason::Unreadable, None, None),
            Self::TooLarge => (Reason::TooLarge, None, None),
            Self::NotUtf8 { line } => (Reason::NotUtf8, Some(*line), Some("save it as UTF-8".to_owned())),
        };
        Finding { hint, ..Finding::error(Place { file, line }, reason, self.to_string()) }
    }
}
