//! The controller's Deployment, as far as it is read: all of it is a fifth of what the compiler would make of this crate.

use k8s_openapi::api::core::v1::{EnvVar, VolumeMount};
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Deserialize;

/// A Deployment.
#[derive(Clone, Debug, Resource, Deserialize)]
#[resource(inherit = "k8s_openapi::api::apps::v1::Deployment")]
pub(super) struct Deployment {
    pub(super) metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    template: Template,
}

#[derive(Clone, Debug, Deserialize)]
struct Template {
    spec: Pod,
}

/// The pods of a Deployment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pod {
    pub(super) containers: Vec<Container>,
    #[serde(default)]
    pub(super) volumes: Vec<Volume>,
}

/// One of a pod's containers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    #[serde(default)]
    pub(super) env: Vec<EnvVar>,
    #[serde(default)]
    pub(super) volume_mounts: Vec<VolumeMount>,
}

/// One of a pod's volumes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Volume {
    pub(super) name: String,
    /// None: it is something else than a Secret.
    pub(super) secret: Option<SecretVolume>,
}

/// A volume with the entries of a Secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecretVolume {
    pub(super) secret_name: String,
}

impl Deployment {
    /// What its pods are.
    pub(super) fn pod(&self) -> &Pod {
        &self.spec.template.spec
    }
}
