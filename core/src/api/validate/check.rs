//! Collects what is wrong with one object.

use std::collections::{BTreeMap, HashSet};

use mcwan_policy::{is_label, limits};

use crate::api::exportable::is_key;
use crate::api::limits as bounds;
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

/// Collects the problems of one object.
pub(super) struct Check {
    pub(super) object: ObjectRef,
    pub(super) problems: Vec<Problem>,
}

impl Check {
    pub(super) fn new(object: ObjectRef) -> Self {
        Self { object, problems: Vec::new() }
    }

    pub(super) fn error(&mut self, field: impl Into<FieldPath>, reason: Reason, message: impl Into<String>) {
        self.problems.push(Problem::error(self.object.clone(), reason, message).at(field));
    }

    /// The object's own name and namespace.
    pub(super) fn own_names(&mut self) {
        let ObjectRef { kind: _, namespace, name } = self.object.clone();
        self.label("metadata.name", &name);
        if let Some(namespace) = namespace {
            self.label("metadata.namespace", &namespace);
        }
    }

    pub(super) fn label(&mut self, field: impl Into<FieldPath>, text: &str) {
        if !is_label(text) {
            let message = format!("`{text}` is not a DNS label: at most {} of a-z, 0-9 and -", limits::LABEL_BYTES);
            self.error(field, Reason::InvalidName, format!("{message}, with a letter or digit at both ends"));
        }
    }

    /// A list of different labels that has at most so many.
    pub(super) fn labels(&mut self, list: &FieldPath, items: &[String], max: usize) {
        self.count(list.clone(), items.len(), max);
        for (index, item) in items.iter().enumerate() {
            self.label(list.index(index), item);
        }
        self.distinct_items(list, items);
    }

    /// The items of a list differ in what identifies them.
    pub(super) fn distinct<T: Eq + std::hash::Hash>(
        &mut self,
        list: impl Into<FieldPath>,
        field: &'static str,
        keys: impl Iterator<Item = T>,
    ) {
        let (list, mut seen) = (list.into(), HashSet::new());
        for (index, key) in keys.enumerate() {
            if !seen.insert(key) {
                self.error(
                    list.index(index).field(field),
                    Reason::Duplicate,
                    format!("an earlier item has this {field}"),
                );
            }
        }
    }

    /// The items of a list differ.
    pub(super) fn distinct_items(&mut self, list: &FieldPath, items: &[String]) {
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| !seen.insert(*item)) {
            self.error(list.index(index), Reason::Duplicate, format!("`{item}` is there twice"));
        }
    }

    /// A list that has at most so many items.
    pub(super) fn count(&mut self, list: impl Into<FieldPath>, count: usize, max: usize) {
        if count > max {
            self.error(list, Reason::TooLarge, format!("{count} items, over the bound of {max}"));
        }
    }

    /// Labels or annotations that a cluster exports: one that an API server does not take would cost the whole object that
    /// has it.
    pub(super) fn exported(
        &mut self,
        field: &'static str,
        pairs: &BTreeMap<String, String>,
        is_value: fn(&str) -> bool,
    ) {
        self.count(field, pairs.len(), bounds::EXPORTED_KEYS);
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > bounds::EXPORTED_BYTES {
            self.error(field, Reason::TooLarge, format!("{bytes} bytes, over the bound of {}", bounds::EXPORTED_BYTES));
        }
        for (key, _) in pairs.iter().filter(|(key, value)| !(is_key(key) && is_value(value))) {
            let message = "Kubernetes takes no such key or value";
            self.error(FieldPath::from(field).key(key), Reason::InvalidName, message);
        }
    }

    /// A text that is not empty and has at most so many characters.
    pub(super) fn length(&mut self, field: FieldPath, text: &str, max: usize) {
        if text.is_empty() {
            self.error(field, Reason::InvalidValue, "the text is empty");
        } else if text.chars().count() > max {
            self.error(field, Reason::TooLarge, format!("over {max} characters"));
        }
    }
}
