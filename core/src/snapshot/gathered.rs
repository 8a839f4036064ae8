//! What documents hold, as a [`Snapshot`].

use std::sync::Arc;

use super::Snapshot;
use super::document::Collected;
use super::documents::documents;
use super::finding::{Finding, Place};
use super::item::Places;
use crate::problem::{Problem, Reason, Severity};

/// Documents of one run: some for each of the imports that a gateway may have.
const DOCUMENTS: usize = 200_000;

/// What files hold, and what is wrong with them.
#[derive(Debug)]
pub struct Gathered {
    /// The sound objects.
    pub snapshot: Snapshot,
    /// What is wrong, in the order of files and documents.
    pub findings: Vec<Finding>,
    places: Places,
}

/// Reads the texts of files, one after the other.
#[derive(Debug, Default)]
pub struct Reader(Collected);

impl Gathered {
    /// Reads the text of one file.
    pub fn from_text(name: &str, text: &str) -> Self {
        let mut reader = Reader::default();
        reader.read(&name.into(), text);
        reader.finish()
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

impl Reader {
    /// Starts without knowing anything. An object that names no namespace is in this one; none: in `default`.
    pub fn new(namespace: Option<&str>) -> Self {
        Self(Collected { namespace: namespace.map(str::to_owned), ..Collected::default() })
    }

    /// Reads the text of a file.
    pub fn read(&mut self, file: &Arc<str>, text: &str) {
        let Self(collected) = self;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut is_empty = true;
        for document in documents(text) {
            if collected.documents == DOCUMENTS {
                let place = Place { file: Arc::clone(file), line: None };
                let message = format!("there are more than {DOCUMENTS} documents");
                collected.findings.push(Finding::error(place, Reason::TooLarge, message));
                return;
            }
            is_empty &= !collected.read(file, document);
        }
        if is_empty {
            let place = Place { file: Arc::clone(file), line: None };
            collected.findings.push(Finding::warning(place, Reason::Empty, "the file holds no object"));
        }
    }

    /// Something is wrong with a file that cannot be read.
    pub fn report(&mut self, finding: Finding) {
        self.0.findings.push(finding);
    }

    /// What was read.
    pub fn finish(self) -> Gathered {
        let Collected { snapshot, findings, places, documents: _, namespace: _ } = self.0;
        Gathered { snapshot, findings, places }
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
            assert_eq!(reasons, [Reason::Syntax], "{message}");
        }
    }
}
