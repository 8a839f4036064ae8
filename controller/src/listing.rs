//! From an API server to a [`Snapshot`], once.

use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use mcwan_core::api::{McsVersion, REGISTRY_NAMESPACE};
use mcwan_core::kind::KindInfo;
use mcwan_core::observed::Live as Observed;
use mcwan_core::snapshot::change::{Input, InputKind};
use mcwan_core::snapshot::{Snapshot, Unreadable, input};
use mcwan_core::watched::Watched;
use serde_json::Value;

use crate::watch::served::{self, is_not_there};

/// What an API server has of the kinds that are read.
#[derive(Debug, Default)]
pub struct Live {
    /// The objects; of those that mcwan wrote itself, what the API server has made of them.
    pub snapshot: Snapshot,
    /// The kinds that are not installed, but for those that a registry may lack.
    pub missing: Vec<&'static KindInfo>,
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

impl Live {
    /// Lists everything; what clusters say of themselves, in the registry.
    ///
    /// # Errors
    /// An API server does not answer, or does not let us list a kind.
    pub async fn list(client: &Client, registry: &Client) -> Result<Self, LiveError> {
        let mut live = Self::default();
        let is_listed = |kind: &Watched| kind.is_read() && *kind != Watched::Lease;
        for watched in Watched::all().filter(is_listed) {
            let info = watched.info();
            let in_registry = watched.is_in_registry();
            let error = |source: kube::Error| LiveError { kind: info.name, in_registry, source: Box::new(source) };
            if watched.is_optional() {
                match served::is_there(registry, info).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    // The kinds that every registry has are missing, too.
                    Err(refusal) if is_not_there(&refusal) => continue,
                    Err(refusal) => return Err(error(refusal)),
                }
            }
            let mut objects = None;
            for mcs_version in McsVersion::ALL {
                objects = list(client, registry, watched, mcs_version).await.map_err(error)?;
                if info.is_of_mcs() && objects.is_some() {
                    live.mcs_version = mcs_version;
                }
                if !info.is_of_mcs() || objects.is_some() {
                    break;
                }
            }
            match objects {
                Some(objects) => objects.iter().for_each(|(kind, object)| live.put(*kind, info.name, object)),
                None => live.missing.push(info),
            }
        }
        Ok(live)
    }

    fn put(&mut self, kind: InputKind, name: &'static str, object: &Value) {
        match input::read(kind, object) {
            Ok(input) => {
                if let Input::UnreadableImport(unreadable) | Input::UnreadablePolicy(unreadable) = &input {
                    self.unreadable.push((name, unreadable.clone()));
                }
                self.snapshot.put(input);
            }
            Err(unreadable) => self.unreadable.push((name, *unreadable)),
        }
    }
}

/// Lists a kind, and what its objects are to the snapshot; none if it is not installed.
async fn list(
    client: &Client,
    registry: &Client,
    kind: Watched,
    mcs: McsVersion,
) -> Result<Option<Vec<(InputKind, Value)>>, kube::Error> {
    let api: Api<DynamicObject> = if kind.is_in_registry() {
        Api::namespaced_with(registry.clone(), REGISTRY_NAMESPACE, &kind.resource(mcs))
    } else {
        Api::all_with(client.clone(), &kind.resource(mcs))
    };
    let mut page = ListParams::default().limit(kind.page());
    if let Some(selector) = kind.selector() {
        page = page.labels(selector);
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
            let is_ours = kind.emitted().is_some() && Observed::of(&object).is_ours();
            all.extend(kind.input_of(is_ours).map(|input| (input, object)));
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(Some(all)),
        }
    }
}
