//! The documents of a file.

/// One document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document<'t> {
    /// Line of the file, from 1, where it starts.
    pub(super) line: usize,
    pub(super) text: &'t str,
}

/// Splits a file at its `---` lines, which may carry a comment, as kubectl does. So a document that is no YAML ends
/// before the next one.
pub(super) fn documents(file: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut offset = 0;
    for (index, line) in file.split_inclusive('\n').enumerate() {
        let after = offset + line.len();
        if is_separator(line) {
            documents.push(Document { line: start_line, text: &file[start..offset] });
            (start, start_line) = (after, index + 2);
        }
        offset = after;
    }
    documents.push(Document { line: start_line, text: &file[start..] });
    documents
}

fn is_separator(line: &str) -> bool {
    line.strip_prefix("---").map(str::trim).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_as_kubectl_splits_it() {
        let table = [
            ("", vec![(1, "")], "nothing"),
            ("a: 1\n", vec![(1, "a: 1\n")], "one document"),
            ("a: 1\n---\nb: 1\n", vec![(1, "a: 1\n"), (3, "b: 1\n")], "two documents"),
            ("---\na: 1\n---\n", vec![(1, ""), (2, "a: 1\n"), (4, "")], "separators before and after"),
            ("a: 1\r\n---\r\nb: 1", vec![(1, "a: 1\r\n"), (3, "b: 1")], "Windows line ends"),
            ("a: 1\n--- # next\nb: 1", vec![(1, "a: 1\n"), (3, "b: 1")], "a comment beside the separator"),
            ("a: 1\n--- {b: 1}\n", vec![(1, "a: 1\n--- {b: 1}\n")], "content beside it is left to the parser"),
            ("a: |\n  ---\n", vec![(1, "a: |\n  ---\n")], "an indented one is text"),
            ("a: 1\n----\n", vec![(1, "a: 1\n----\n")], "four dashes are none"),
        ];
        for (file, expected, message) in table {
            let found: Vec<_> = documents(file).iter().map(|document| (document.line, document.text)).collect();
            assert_eq!(found, expected, "{message}");
        }
    }
}
