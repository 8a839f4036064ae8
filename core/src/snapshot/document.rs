//! From a document to the objects in it.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::de::DeserializeOwned;

use super::change::{Input, InputKind};
use super::documents::Document;
use super::finding::{Finding, Place};
use super::item::{Item, Places};
use super::kind::{Recognized, of_ours, recognize};
use super::typed;
use super::yaml::{self, Value};
use super::{Objects, Snapshot, Unreadable, slip, submariner};
use crate::api::{ClusterConnectionPolicy, OpenshiftRoute, Route, RouteDocument, RouteKind, RouteSelector, validate};
use crate::kind::{self, KindInfo};
use crate::problem::{ObjectRef, Problem, Reason, Severity};

/// The namespace of an object that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// What documents hold.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) snapshot: Snapshot,
    pub(super) findings: Vec<Finding>,
    pub(super) places: Places,
    /// How many documents were read.
    pub(super) documents: usize,
    /// The namespace of an object that names none; none: `default`.
    pub(super) namespace: Option<String>,
}

impl Collected {
    /// Reads one document; false if it is empty.
    pub(super) fn read(&mut self, file: &Arc<str>, document: Document<'_>) -> bool {
        self.documents += 1;
        let place = |line: usize| Place { file: Arc::clone(file), line: Some(document.line + line - 1) };
        let node = match yaml::parse(document.text) {
            Ok(node) => node,
            Err(error) => {
                self.findings.push(match slip::in_text(document.text, error.line) {
                    Some((line, key)) => dash_without_space(place(line), key),
                    None => Finding::error(place(error.line), Reason::Syntax, error.to_string()),
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
            let finding = Finding::error(item.place(), Reason::NotAnObject, message);
            let meant = item.text(&["kind"]).filter(|_| !item.has(&["apiVersion"])).and_then(of_ours);
            let Some((kind, info)) = meant else { return self.findings.push(finding) };
            self.findings.push(finding.hint(format!("write `apiVersion: {}`", info.api_version())));
            return self.named(kind, info, item);
        };
        match recognize(api_version, kind) {
            Recognized::Read(kind, info) => self.named(kind, info, item),
            Recognized::List => self.list(item),
            // What it should forbid would be open.
            Recognized::Ignored(Some(hint)) if kind == kind::SERVICE_IMPORT.name && item.has(&["spec", "http"]) => {
                let message = format!("rules in a {kind} of {api_version}, which has none");
                self.findings.push(Finding::error(item.place(), Reason::UnknownKind, message).hint(hint));
            }
            Recognized::Ignored(hint) => {
                let message = format!("mcwan does not read {kind} ({api_version})");
                self.findings.push(Finding { hint, ..Finding::warning(item.place(), Reason::NotRead, message) });
            }
            Recognized::Misspelt(hint) => {
                let message = format!("there is no {kind} in {api_version}");
                self.findings.push(Finding::error(item.place(), Reason::UnknownKind, message).hint(hint));
                if item.has(&["metadata", "spec"]) {
                    let message = "`spec` stands below `metadata`";
                    let finding = Finding::error(item.place(), Reason::UnknownField, message);
                    self.findings.push(finding.hint("write it beside `metadata`"));
                }
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
            _ => self.findings.push(Finding::error(place, Reason::MissingField, "List without a list of items")),
        }
    }

    fn named(&mut self, kind: InputKind, info: &KindInfo, item: Item) {
        let Some(name) = item.text(&["metadata", "name"]).map(str::to_owned) else {
            let message = format!("{} without a name", info.name);
            let finding = Finding::error(item.place(), Reason::MissingField, message);
            self.findings.push(finding.hint("write `metadata: {name: …}`"));
            return;
        };
        let default = self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        let namespace = item.text(&["metadata", "namespace"]).unwrap_or(default);
        let namespace = (kind != InputKind::WanPolicy).then(|| namespace.to_owned());
        let object = ObjectRef { kind: info.name.to_owned(), namespace, name };
        if let Some(duplicate) = self.places.insert(object.clone(), item) {
            self.findings.push(duplicate);
            return;
        }
        match kind {
            InputKind::WanPolicy => self.add_ours(&object, validate::wan_policy, |all| &mut all.wan_policies),
            InputKind::ServiceImport => {
                self.add_ours(&object, validate::service_import, |all| &mut all.service_imports);
            }
            InputKind::ExportedService => {
                self.add_ours(&object, validate::exported_service, |all| &mut all.exported_services);
            }
            InputKind::ExportedEndpoints => {
                self.add_ours(&object, validate::exported_endpoints, |all| &mut all.exported_endpoints);
            }
            InputKind::WanCluster => self.add_ours(&object, validate::wan_cluster, |all| &mut all.wan_clusters),
            InputKind::ConnectionPolicy => self.add_connection_policy(&object),
            InputKind::Service => self.add(&object, |all| &mut all.services),
            InputKind::EndpointSlice => self.add(&object, |all| &mut all.endpoint_slices),
            InputKind::ReferenceGrant => self.add(&object, |all| &mut all.reference_grants),
            InputKind::ServiceExport => self.add(&object, |all| &mut all.service_exports),
            InputKind::Route(kind) => self.add_route(kind, &object),
            InputKind::OpenshiftRoute => self.add_openshift_route(&object),
            InputKind::GatewayPod => {
                if let Some(pod) = self.typed(&object, typed::read_in_part) {
                    self.snapshot.gateway_pods.insert(pod);
                }
            }
            InputKind::Namespace
            | InputKind::ClientService
            | InputKind::ClusterConnection
            | InputKind::McsServiceImport => {}
        }
    }

    /// Adds an object of ours to its list, if nothing in it must be put right.
    fn add_ours<T: DeserializeOwned + Resource>(
        &mut self,
        object: &ObjectRef,
        validate: fn(&T) -> Vec<Problem>,
        list: fn(&mut Snapshot) -> &mut Objects<T>,
    ) {
        if let Some(typed) = self.typed(object, typed::read_ours) {
            let problems = validate(&typed);
            if problems.iter().all(|problem| problem.severity < Severity::Error) {
                list(&mut self.snapshot).insert(typed);
            }
            self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
        }
    }

    /// Adds a policy, whatever is wrong with it: it may take away more than others give.
    fn add_connection_policy(&mut self, object: &ObjectRef) {
        let Some(item) = self.places.get(object) else { return };
        let json = item.node.to_json();
        let problems = match typed::read_ours::<ClusterConnectionPolicy>(object, json.clone()) {
            Ok(mut policy) => {
                policy.metadata.namespace.clone_from(&object.namespace);
                let problems = validate::connection_policy(&policy);
                self.snapshot.put(Input::ConnectionPolicy(policy));
                problems
            }
            Err(faults) => {
                let ObjectRef { kind: _, namespace, name } = object.clone();
                let metadata = ObjectMeta { namespace, name: Some(name), ..ObjectMeta::default() };
                let error = faults.iter().map(|fault| fault.message.clone()).next().unwrap_or_default();
                let unreadable = Unreadable { metadata, conditions: Vec::new(), hostnames: Vec::new(), error };
                self.snapshot.put(Input::UnreadablePolicy(unreadable));
                faults.into_iter().map(|fault| submariner::hinted(fault, &json)).collect()
            }
        };
        self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
    }

    /// Adds a route, if all of its rules can be read.
    fn add_route(&mut self, kind: RouteKind, object: &ObjectRef) {
        let mut problems = Vec::new();
        let document = self.parsed::<RouteDocument>(object, |object, mut json| {
            problems.extend(slip::without_dash(object, "spec.rules", json.pointer_mut("/spec/rules")));
            typed::read(object, json)
        });
        if let Some(document) = document {
            let mut route = Route::new(kind, document);
            route.metadata.namespace.clone_from(&object.namespace);
            problems.extend(validate::route(&route));
            if problems.iter().all(|problem| problem.severity < Severity::Error) {
                self.snapshot.put(Input::Route(route));
            }
        }
        self.findings.extend(problems.into_iter().map(|problem| self.places.locate(problem)));
    }

    /// Adds a route of hosts, and says if it is another router's.
    fn add_openshift_route(&mut self, object: &ObjectRef) {
        let Some(route) = self.typed::<OpenshiftRoute>(object, typed::read) else { return };
        if !RouteSelector::default().takes(&route) {
            let message = "it has not the labels of the routes that are mcwan's, unless the controller selects others";
            let warning = Problem::warning(object.clone(), Reason::NotRead, message).at("metadata.labels");
            let hint = format!("write `labels: {{{}}}`", RouteSelector::default().to_string().replace('=', ": "));
            self.findings.push(self.places.locate(warning.hint(hint)));
        }
        self.snapshot.openshift_routes.insert(route);
    }

    /// Adds an object of Kubernetes' to its list, if it can be read.
    fn add<T: DeserializeOwned + Resource>(&mut self, object: &ObjectRef, list: fn(&mut Snapshot) -> &mut Objects<T>) {
        if let Some(typed) = self.typed(object, typed::read) {
            list(&mut self.snapshot).insert(typed);
        }
    }

    fn typed<T: Resource>(
        &mut self,
        object: &ObjectRef,
        read: fn(&ObjectRef, serde_json::Value) -> Result<T, Vec<Problem>>,
    ) -> Option<T> {
        let mut typed = self.parsed(object, read)?;
        typed.meta_mut().namespace.clone_from(&object.namespace);
        Some(typed)
    }

    fn parsed<T>(
        &mut self,
        object: &ObjectRef,
        read: impl FnOnce(&ObjectRef, serde_json::Value) -> Result<T, Vec<Problem>>,
    ) -> Option<T> {
        let item = self.places.get(object)?;
        match read(object, item.node.to_json()) {
            Ok(read) => Some(read),
            Err(faults) => {
                self.findings.extend(faults.into_iter().map(|fault| self.places.locate(fault)));
                None
            }
        }
    }
}

fn dash_without_space(place: Place, key: &str) -> Finding {
    let message = format!("`-{key}:` has no space after the dash, so that it is no item of a list");
    Finding::error(place, Reason::Syntax, message).hint(format!("write `- {key}:`"))
}

#[cfg(test)]
mod tests;
