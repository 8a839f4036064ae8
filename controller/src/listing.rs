//! From an API server to a [`Snapshot`], once.

use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use mcwan_core::api::{
    ExportedService, McsVersion, REGISTRY_NAMESPACE, ServiceExport, ServiceImport, WanCluster, WanPolicy,
};
use mcwan_core::emit::object::Kind;
use mcwan_core::observed::Live as Observed;
use mcwan_core::snapshot::change::{Input, InputKind};
use mcwan_core::snapshot::{Snapshot, Unreadable, input};
use mcwan_core::translate::gateway_pods::GATEWAY_LABEL;
use serde_json::Value;

/// Objects of one page of a list.
const PAGE: u32 = 500;

/// What an API server has of the kinds that are read.
#[derive(Debug, Default)]
pub struct Live {
    /// The objects, but for those that mcwan wrote itself.
    pub snapshot: Snapshot,
    /// The kinds that are not installed.
    pub missing: Vec<&'static str>,
    /// The objects that cannot be read, with their kinds.
    pub unreadable: Vec<(&'static str, Unreadable)>,
    /// The version of the Multi-Cluster Services API that is served.
    pub mcs_version: McsVersion,
}

/// A kind that cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("{kind} objects cannot be listed")]
pub struct LiveError {
    kind: &'static str,
    /// Whether it is the registry that was asked.
    pub in_registry: bool,
    source: Box<kube::Error>,
}

/// Every kind that is read; a version of the Multi-Cluster Services API that is not served is none.
const KINDS: [(InputKind, &str); 10] = [
    (InputKind::WanPolicy, "WANPolicy"),
    (InputKind::ServiceImport, "ServiceImport"),
    (InputKind::ServiceExport, ServiceExport::KIND),
    (InputKind::ExportedService, "ExportedService"),
    (InputKind::WanCluster, "WANCluster"),
    (InputKind::Service, "Service"),
    (InputKind::EndpointSlice, "EndpointSlice"),
    (InputKind::ReferenceGrant, "ReferenceGrant"),
    (InputKind::GatewayPod, "Pod"),
    (InputKind::Namespace, "Namespace"),
];

impl Live {
    /// Lists everything; what clusters say of themselves, in the registry.
    ///
    /// # Errors
    /// An API server does not answer, or does not let us list a kind.
    pub async fn list(client: &Client, registry: &Client) -> Result<Self, LiveError> {
        let mut live = Self::default();
        for (kind, name) in KINDS {
            let in_registry = is_in_registry(kind);
            let error = |source: kube::Error| LiveError { kind: name, in_registry, source: Box::new(source) };
            let mut objects = None;
            for mcs_version in McsVersion::ALL {
                objects = list(client, registry, kind, mcs_version).await.map_err(error)?;
                if kind == InputKind::ServiceExport && objects.is_some() {
                    live.mcs_version = mcs_version;
                }
                if kind != InputKind::ServiceExport || objects.is_some() {
                    break;
                }
            }
            match objects {
                Some(objects) => objects.iter().for_each(|object| live.put(kind, name, object)),
                None => live.missing.push(name),
            }
        }
        Ok(live)
    }

    fn put(&mut self, kind: InputKind, name: &'static str, object: &Value) {
        match input::read(kind, object) {
            Ok(input) => {
                if let Input::UnreadableImport(unreadable) = &input {
                    self.unreadable.push((name, unreadable.clone()));
                }
                self.snapshot.put(input);
            }
            Err(unreadable) => self.unreadable.push((name, *unreadable)),
        }
    }
}

/// Lists a kind; none if it is not installed.
async fn list(
    client: &Client,
    registry: &Client,
    kind: InputKind,
    mcs: McsVersion,
) -> Result<Option<Vec<Value>>, kube::Error> {
    let api: Api<DynamicObject> = if is_in_registry(kind) {
        Api::namespaced_with(registry.clone(), REGISTRY_NAMESPACE, &resource(kind, mcs))
    } else {
        Api::all_with(client.clone(), &resource(kind, mcs))
    };
    let mut page = ListParams::default().limit(PAGE);
    if kind == InputKind::GatewayPod {
        page = page.labels(GATEWAY_LABEL);
    }
    let mut all = Vec::new();
    loop {
        let list = match api.list(&page).await {
            Ok(list) => list,
            Err(error) if is_not_there(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        for object in list.items {
            let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
            if !(may_be_ours(kind) && Observed::of(&object).is_ours()) {
                all.push(object);
            }
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(Some(all)),
        }
    }
}

/// Whether clusters tell each other of objects of a kind.
fn is_in_registry(kind: InputKind) -> bool {
    matches!(kind, InputKind::ExportedService | InputKind::WanCluster)
}

/// Whether what was asked for is not there, or is of a kind that is not installed: then the answer has no reason.
pub fn is_not_there(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether mcwan writes objects of a kind that are then no input.
fn may_be_ours(kind: InputKind) -> bool {
    matches!(kind, InputKind::Service | InputKind::EndpointSlice | InputKind::ReferenceGrant)
}

fn resource(kind: InputKind, mcs: McsVersion) -> ApiResource {
    match kind {
        InputKind::WanPolicy => ApiResource::erase::<WanPolicy>(&()),
        InputKind::ServiceImport => ApiResource::erase::<ServiceImport>(&()),
        InputKind::ServiceExport => ApiResource::erase::<ServiceExport>(&mcs),
        InputKind::ExportedService => ApiResource::erase::<ExportedService>(&()),
        InputKind::WanCluster => ApiResource::erase::<WanCluster>(&()),
        InputKind::Service => ApiResource::erase::<Service>(&()),
        InputKind::EndpointSlice => ApiResource::erase::<EndpointSlice>(&()),
        InputKind::ReferenceGrant => Kind::ReferenceGrant.api_resource(),
        InputKind::GatewayPod => ApiResource::erase::<Pod>(&()),
        InputKind::Namespace => ApiResource::erase::<Namespace>(&()),
    }
}
