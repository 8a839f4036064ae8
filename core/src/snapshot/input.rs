//! From an object of an API server to an [`Input`].

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::change::{Input, InputKind};
use super::{ClientService, Key, Unreadable, typed};
use crate::api::{IMPORT_LABEL, McsServiceImport, Route, TIER_NAMESPACE, validate};
use crate::kind;
use crate::problem::{ObjectRef, Problem, Severity};

/// Reads an object. A `ServiceImport`, and a policy, that cannot be read is an input, too: what it should forbid must not
/// be open.
///
/// # Errors
/// It has not the form of its kind, or breaks a rule of it that the API server should have enforced.
pub fn read(kind: InputKind, object: &Value) -> Result<Input, Box<Unreadable>> {
    match kind {
        InputKind::WanPolicy => sound(object, validate::wan_policy).map(Input::WanPolicy),
        InputKind::ServiceImport => {
            let import = sound(object, validate::service_import).map(Input::ServiceImport);
            Ok(import.unwrap_or_else(|unreadable| Input::UnreadableImport(*unreadable)))
        }
        InputKind::ServiceExport => sound(object, validate::service_export).map(Input::ServiceExport),
        InputKind::ExportedService => sound(object, validate::exported_service).map(Input::ExportedService),
        InputKind::ExportedEndpoints => sound(object, validate::exported_endpoints).map(Input::ExportedEndpoints),
        InputKind::WanCluster => sound(object, validate::wan_cluster).map(Input::WanCluster),
        // What of it is wrong, `crate::connection` takes at its worst.
        InputKind::ConnectionPolicy => {
            let policy = typed(object).map(Input::ConnectionPolicy);
            Ok(policy.unwrap_or_else(|unreadable| Input::UnreadablePolicy(*unreadable)))
        }
        InputKind::ClusterConnection => typed(object).map(Input::ClusterConnection),
        InputKind::Service => typed(object).map(Input::Service),
        InputKind::EndpointSlice => typed(object).map(Input::EndpointSlice),
        InputKind::ReferenceGrant => typed(object).map(Input::ReferenceGrant),
        InputKind::GatewayPod => typed(object).map(Input::GatewayPod),
        InputKind::Namespace => typed(object).map(Input::Namespace),
        InputKind::ClientService => typed(object).map(|service| Input::ClientService(client_service(&service))),
        InputKind::Route(kind) => typed(object).map(|document| Input::Route(Route::new(kind, document))),
        InputKind::OpenshiftRoute => typed(object).map(Input::OpenshiftRoute),
        InputKind::McsServiceImport => typed(object).map(|mut import: McsServiceImport| {
            // Nobody reads them, and each takes a map.
            (import.metadata.labels, import.metadata.annotations) = (None, None);
            Input::McsServiceImport(import)
        }),
    }
}

/// Whether an object of ours is an input, too: a Service that clients call, whose addresses are the API server's to give, what
/// tells them of it, or what has a status by us alone. Tier services, of which there are many, are neither.
pub fn is_read_back(object: &Value) -> bool {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let is_of_tier = || text("/metadata/namespace") == Some(TIER_NAMESPACE);
    let is_shown = || matches!(text("/spec/type"), Some("ClusterSetIP" | "Headless"));
    let is_connection = || text("/kind") == Some(kind::CLUSTER_CONNECTION.name);
    object.pointer("/spec/clusterIPs/0").is_some() && !is_of_tier() || is_shown() || is_connection()
}

/// What is kept of a Service of ours. One that clients of an import call has the import's name on a label.
fn client_service(service: &Service) -> ClientService {
    let key = Key::of(&service.metadata);
    let import = service.metadata.labels.as_ref().and_then(|labels| labels.get(IMPORT_LABEL));
    let import = Key::new(Arc::clone(&key.namespace), import.map(String::as_str).unwrap_or_default());
    let addresses = service.spec.iter().flat_map(|spec| &spec.cluster_ips).flatten();
    ClientService { key, import, addresses: addresses.filter_map(|address| address.parse().ok()).collect() }
}

/// Reads an object of ours in which nothing is wrong.
fn sound<T: DeserializeOwned + kube_core::Resource>(
    object: &Value,
    validate: fn(&T) -> Vec<Problem>,
) -> Result<T, Box<Unreadable>> {
    let typed: T = typed(object)?;
    match validate(&typed).into_iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok(typed),
        Some(Problem { field, message, .. }) => Err(unreadable(object, format!("{field}: {message}"))),
    }
}

fn typed<T: DeserializeOwned>(object: &Value) -> Result<T, Box<Unreadable>> {
    let read = T::deserialize(object).or_else(|_| typed::read_in_part(&ObjectRef::default(), object.clone()));
    read.map_err(|faults| {
        let texts =
            faults.into_iter().map(
                |Problem { field, message, .. }| {
                    if field.segments().is_empty() { message } else { format!("{field}: {message}") }
                },
            );
        unreadable(object, texts.take(1).collect())
    })
}

/// What is known of an object all the same.
fn unreadable(object: &Value, error: String) -> Box<Unreadable> {
    Box::new(Unreadable {
        metadata: part(object, "/metadata").unwrap_or_default(),
        conditions: part(object, "/status/conditions").unwrap_or_default(),
        hostnames: part(object, "/spec/hostnames").unwrap_or_default(),
        error,
    })
}

fn part<T: DeserializeOwned>(object: &Value, pointer: &str) -> Option<T> {
    T::deserialize(object.pointer(pointer)?).ok()
}
