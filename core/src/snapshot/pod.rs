//! The pods of gateways, as far as they are read.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use kube_core::{ObjectMeta, Resource};
use serde::{Deserialize, Serialize};

use crate::kind::{KindInfo, POD};

/// A pod: of all that `core/v1` has for it, what is read here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What its node says of it.
    #[serde(default)]
    pub status: PodStatus,
}

/// What the node of a pod says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// How far it is in its life.
    pub phase: Option<String>,
    /// Whether it is ready, and more.
    pub conditions: Vec<PodCondition>,
    /// Its addresses, one for each family.
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodIp>,
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodCondition {
    /// Its type, such as `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PodIp {
    /// The address.
    pub ip: String,
}

impl Pod {
    const KIND: &KindInfo = &POD;
}

impl Resource for Pod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Self::KIND.name.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        Self::KIND.group.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        Self::KIND.plural.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
