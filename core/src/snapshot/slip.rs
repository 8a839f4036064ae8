//! Slips of the dash: ` -name: x` where `- name: x` was meant, and `name: x`.

use super::yaml::{Node, Value};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

/// How far above the line of a syntax error the slip is looked for: the error shows where the next line does not fit.
const LINES_ABOVE: usize = 3;

/// The slip on a line of a document or right above it. Returns its line, from 1, and the key.
pub(super) fn in_text(document: &str, line: usize) -> Option<(usize, &str)> {
    let near = document.lines().enumerate().take(line).skip(line.saturating_sub(1 + LINES_ABOVE));
    near.filter_map(|(index, text)| Some((index + 1, in_line(text)?))).last()
}

/// The key of a line that reads `-key:`.
fn in_line(text: &str) -> Option<&str> {
    let (key, value) = text.trim_start().strip_prefix('-')?.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
    (is_key && (value.is_empty() || value.starts_with(' '))).then_some(key)
}

/// Every key of a tree that reads `-key`, with its line.
pub(super) fn in_tree(node: &Node) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    collect(node, &mut found);
    found
}

/// A mapping where a list is meant becomes its only item, so that what else is wrong is found, too.
pub(super) fn without_dash(
    object: &ObjectRef,
    field: impl Into<FieldPath>,
    list: Option<&mut serde_json::Value>,
) -> Option<Problem> {
    let list = list.filter(|list| list.is_object())?;
    *list = vec![list.take()].into();
    let problem = Problem::error(object.clone(), Reason::InvalidValue, "expected a list, found a mapping");
    Some(problem.at(field).hint("begin each item with `- `"))
}

fn collect<'n>(node: &'n Node, found: &mut Vec<(usize, &'n str)>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Map(entries) => {
            for entry in entries {
                found.extend(entry.key.strip_prefix('-').map(|key| (entry.line, key)));
                collect(&entry.value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_without_a_space_is_found() {
        let table = [
            ("a:\n   -name: x\n    port: 1\n", 3, Some((2, "name")), "the seed's slip"),
            ("a:\n  -name: x\nb:\n  -name: y\n    c: 1\n", 5, Some((4, "name")), "the nearest one"),
            ("a:\n  -matches:\n  - b\n", 3, Some((2, "matches")), "a key without a value beside it"),
            ("a:\n  - name: x\n", 2, None, "with a space"),
            ("a: -1\n", 1, None, "a negative number"),
            ("--flag: x\n", 1, None, "two dashes"),
            ("-http://host\n", 1, None, "no space after the colon"),
            ("a: 1\n  -name: x\n", 1, None, "below the line"),
            ("-a: x\n1\n2\n3\n", 4, Some((1, "a")), "just near enough"),
            ("-a: x\n1\n2\n3\n4\n", 5, None, "too far above the line"),
        ];
        for (document, line, expected, message) in table {
            assert_eq!(in_text(document, line), expected, "{message}");
        }
    }
}
