//! The custom resources that a cluster can serve.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::tools;

/// Custom resource definitions that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// Ours, of `manifests/crds`.
    Mcwan,
    /// Gateway API's standard channel.
    GatewayApi,
    /// Istio's.
    Istio,
    /// The Multi-Cluster Services API, versions v1beta1 and v1alpha1.
    McsV1Beta1,
    /// The Multi-Cluster Services API, version v1alpha1 only.
    McsV1Alpha1,
    /// The `Route` of `OpenShift`.
    Openshift,
}

impl Crds {
    /// One of each, in the newest version.
    pub const ALL: [Self; 5] = [Self::Mcwan, Self::GatewayApi, Self::Istio, Self::McsV1Beta1, Self::Openshift];

    /// The folder of their manifests.
    ///
    /// # Errors
    /// It is missing; the message says what to run.
    pub fn folder(self) -> Result<PathBuf> {
        match self {
            Self::Mcwan => Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/crds")),
            Self::GatewayApi => tools::crds("gateway-api"),
            Self::Istio => tools::crds("istio"),
            Self::McsV1Beta1 => tools::crds("mcs-v1beta1"),
            Self::McsV1Alpha1 => tools::crds("mcs-v1alpha1"),
            Self::Openshift => tools::crds("openshift"),
        }
    }
}
