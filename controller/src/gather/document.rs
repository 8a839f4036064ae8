//! From a document to the objects in it.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;

use kube::Resource;
use serde::de::DeserializeOwned;

use super::documents::Document;
use super::field::{FieldPath, Segment};
use super::finding::{Finding, Place};
use super::kind::{Kind, Recognized, recognize};
use super::typed::{self, Fault};
use super::yaml::{self, Node, Value};
use super::{Snapshot, slip};
use crate::api::validate;
use crate::problem::{ObjectRef, Problem};

/// The namespace of an object that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// Collects what documents hold.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) snapshot: Snapshot,
    pub(super) findings: Vec<Finding>,
    pub(super) places: Places,
    /// How many documents were read.
    pub(super) documents: usize,
}

/// Where the objects are.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<ObjectRef, Item>);

/// An object as it was written.
#[derive(Clone, Debug)]
struct Item {
    file: Arc<str>,
    /// Line of the file where the document starts, from 1.
    first_line: usize,
    node: Node,
}

impl Reader {
    /// Reads one document; false if it is empty.
    pub(super) fn read(&mut self, file: &Arc<str>, document: Document<'_>) -> bool {
        self.documents += 1;
        let place = |line: usize| Place { file: Arc::clone(file), line: Some(document.line + line - 1) };
        let node = match yaml::parse(document.text) {
            Ok(node) => node,
            Err(error) => {
                self.findings.push(match slip::in_text(document.text, error.line) {
                    Some((line, key)) => dash_without_space(place(line), key),
                    None => Finding::error(place(error.line), "Syntax", error.to_string()),
                });
                return true;
            }
        };
        if node.value == Value::Null {
            return false;
        }
        let slips = slip::in_tree(&node);
        if slips.is_empty() {
            self.item(Item { file: Arc::clone(file), first_line: document.line, node });
        } else {
            self.findings.extend(slips.into_iter().map(|(line, key)| dash_without_space(place(line), key)));
        }
        true
    }

    /// Reads an object, or the items of a list.
    fn item(&mut self, item: Item) {
        let (Some(api_version), Some(kind)) = (item.text(&["apiVersion"]), item.text(&["kind"])) else {
            let message = "this is no Kubernetes object: it needs `apiVersion`, `kind` and `metadata`";
            self.findings.push(Finding::error(item.place(), "NotAnObject", message));
            return;
        };
        match recognize(api_version, kind) {
            Recognized::Read(kind) => self.named(kind, item),
            Recognized::List => self.list(item),
            Recognized::Ignored(hint) => {
                let message = format!("mcwan does not read {kind} ({api_version})");
                self.findings.push(Finding { hint, ..Finding::warning(item.place(), "NotRead", message) });
            }
            Recognized::Misspelt(hint) => {
                let message = format!("there is no {kind} in {api_version}");
                self.findings.push(Finding::error(item.place(), "UnknownKind", message).hint(hint));
            }
        }
    }

    fn list(&mut self, list: Item) {
        let place = list.place();
        let Item { file, first_line, node } = list;
        match node.into_entry("items").map(|entry| entry.value.value) {
            Some(Value::List(items)) => {
                for node in items {
                    self.item(Item { file: Arc::clone(&file), first_line, node });
                }
            }
            _ => self.findings.push(Finding::error(place, "MissingField", "List without a list of items")),
        }
    }

    fn named(&mut self, kind: Kind, item: Item) {
        let Some(name) = item.text(&["metadata", "name"]).map(str::to_owned) else {
            let message = format!("{} without a name", kind.name());
            let finding = Finding::error(item.place(), "MissingField", message);
            self.findings.push(finding.hint("write `metadata: {name: …}`"));
            return;
        };
        let namespace = item.text(&["metadata", "namespace"]).unwrap_or(DEFAULT_NAMESPACE);
        let namespace = kind.is_namespaced().then(|| namespace.to_owned());
        let object = ObjectRef { kind: kind.name().to_owned(), namespace, name };
        match self.places.0.entry(object.clone()) {
            hash_map::Entry::Vacant(entry) => entry.insert(item),
            hash_map::Entry::Occupied(first) => {
                let message = format!("defined a second time; first in {}", first.get().place());
                self.findings.push(Finding::error(item.place(), "Duplicate", message).of(Some(object)));
                return;
            }
        };
        match kind {
            Kind::WanPolicy => self.add_ours(&object, validate::wan_policy, |all| &mut all.wan_policies),
            Kind::ServiceImport => self.add_ours(&object, validate::service_import, |all| &mut all.service_imports),
            Kind::ExportedService => {
                self.add_ours(&object, validate::exported_service, |all| &mut all.exported_services);
            }
            Kind::WanCluster => self.add_ours(&object, validate::wan_cluster, |all| &mut all.wan_clusters),
            Kind::Service => self.add(&object, |all| &mut all.services),
            Kind::EndpointSlice => self.add(&object, |all| &mut all.endpoint_slices),
            Kind::ReferenceGrant => self.add(&object, |all| &mut all.reference_grants),
        }
    }

    /// Adds an object of ours to its list, if nothing is wrong with it.
    fn add_ours<T: DeserializeOwned + Resource>(
        &mut self,
        object: &ObjectRef,
        validate: fn(&T) -> Vec<Problem>,
        list: fn(&mut Snapshot) -> &mut Vec<T>,
    ) {
        if let Some(typed) = self.typed(object, typed::read_ours) {
            let problems = validate(&typed);
            if problems.is_empty() {
                list(&mut self.snapshot).push(typed);
            }
            self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
        }
    }

    /// Adds an object of Kubernetes' to its list, if it can be read.
    fn add<T: DeserializeOwned + Resource>(&mut self, object: &ObjectRef, list: fn(&mut Snapshot) -> &mut Vec<T>) {
        if let Some(typed) = self.typed(object, typed::read) {
            list(&mut self.snapshot).push(typed);
        }
    }

    fn typed<T: Resource>(
        &mut self,
        object: &ObjectRef,
        read: fn(serde_json::Value) -> Result<T, Vec<Fault>>,
    ) -> Option<T> {
        let item = self.places.0.get(object)?;
        match read(item.node.to_json()) {
            Ok(mut typed) => {
                typed.meta_mut().namespace.clone_from(&object.namespace);
                Some(typed)
            }
            Err(faults) => {
                self.findings.extend(faults.into_iter().map(|fault| item.fault(fault, object.clone())));
                None
            }
        }
    }
}

fn dash_without_space(place: Place, key: &str) -> Finding {
    let message = format!("`-{key}:` has no space after the dash, so that it is no item of a list");
    Finding::error(place, "Syntax", message).hint(format!("write `- {key}:`"))
}

impl Item {
    fn place(&self) -> Place {
        self.place_of(self.node.line)
    }

    fn place_of(&self, line: usize) -> Place {
        Place { file: Arc::clone(&self.file), line: Some(self.first_line + line - 1) }
    }

    fn text(&self, keys: &[&str]) -> Option<&str> {
        match keys.iter().try_fold(&self.node, |node, key| node.get(key))?.value {
            Value::Text(ref text) => Some(text),
            _ => None,
        }
    }

    fn fault(&self, fault: Fault, object: ObjectRef) -> Finding {
        let Fault { field, reason, message, hint } = fault;
        let place = self.place_of(self.node.line_of(field.segments()));
        let field = (!field.is_root()).then(|| field.to_string());
        Finding { field, hint, ..Finding::error(place, reason, message).of(Some(object)) }
    }
}

impl Places {
    /// Finds the place of a problem.
    pub(super) fn locate(&self, problem: Problem) -> Finding {
        let place = self.0.get(&problem.object).map(|item| {
            let field: Option<FieldPath> = problem.field.as_deref().and_then(|field| field.parse().ok());
            item.place_of(item.node.line_of(field.as_ref().map_or(&[], FieldPath::segments)))
        });
        Finding::new(problem, place)
    }
}

impl Node {
    /// The value of a key, if this is a mapping that has it.
    fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    fn into_entry(self, key: &str) -> Option<yaml::Entry> {
        match self.value {
            Value::Map(entries) => entries.into_iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    fn entry(&self, key: &str) -> Option<&yaml::Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The line of a field, or of what is nearest above it.
    fn line_of(&self, field: &[Segment]) -> usize {
        let (mut node, mut line) = (self, self.line);
        for segment in field {
            (line, node) = match (segment, &node.value) {
                (Segment::Key(key), _) => match node.entry(key) {
                    Some(entry) => (entry.line, &entry.value),
                    None => return line,
                },
                (Segment::Index(index), Value::List(items)) => match items.get(*index) {
                    Some(item) => (item.line, item),
                    None => return line,
                },
                (Segment::Index(_), _) => return line,
            };
        }
        line
    }
}
