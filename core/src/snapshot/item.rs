//! Objects as they were written, and where.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::finding::{Finding, Place};
use super::yaml::{Node, Value};
use crate::problem::{ObjectRef, Problem, Reason};

/// Where the objects are.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<ObjectRef, Item>);

/// An object as it was written.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) file: Arc<str>,
    /// Line of the file where the document starts, from 1.
    pub(super) first_line: usize,
    pub(super) node: Node,
}

impl Places {
    /// Keeps an object, unless there is one of that name: then says so.
    pub(super) fn insert(&mut self, object: ObjectRef, item: Item) -> Option<Finding> {
        match self.0.entry(object) {
            Entry::Vacant(entry) => {
                entry.insert(item);
                None
            }
            Entry::Occupied(first) => {
                let message = format!("defined a second time; first in {}", first.get().place());
                Some(Finding::error(item.place(), Reason::Duplicate, message).of(first.key().clone()))
            }
        }
    }

    pub(super) fn get(&self, object: &ObjectRef) -> Option<&Item> {
        self.0.get(object)
    }

    /// Finds the place of a problem.
    pub(super) fn locate(&self, problem: Problem) -> Finding {
        let item = self.get(&problem.object);
        let place = item.map(|item| item.place_of(item.node.line_of(problem.field.segments())));
        Finding::new(problem, place)
    }
}

impl Item {
    pub(super) fn place(&self) -> Place {
        self.place_of(self.node.line)
    }

    fn place_of(&self, line: usize) -> Place {
        Place { file: Arc::clone(&self.file), line: Some(self.first_line + line - 1) }
    }

    /// The text of a field, if it has one.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        match &keys.iter().try_fold(&self.node, |node, key| node.get(key))?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a field is there.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().try_fold(&self.node, |node, key| node.get(key)).is_some()
    }
}
