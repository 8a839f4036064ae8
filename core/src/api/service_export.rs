//! `ServiceExport` of the Multi-Cluster Services API (KEP-1645), as far as mcwan reads it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use super::resource::resource;
use crate::kind;

/// The API group of the Multi-Cluster Services API.
pub const MCS_GROUP: &str = "multicluster.x-k8s.io";
/// The annotation of a `ServiceExport` that names its default tier.
pub const WAN_POLICY_ANNOTATION: &str = "mc-wan.l7mp.io/wan-policy";

/// A version of the Multi-Cluster Services API. All have the fields that are read here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum McsVersion {
    /// Served from mcs-api 0.5 on.
    #[default]
    V1Beta1,
    /// Served by every release so far.
    V1Alpha1,
}

/// Asks that the Service of its name and namespace be had in other clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceExport {
    /// Names the Service; the annotations name the default tier.
    pub metadata: ObjectMeta,
    /// What goes with the Service.
    #[serde(default)]
    pub spec: ServiceExportSpec,
    /// What controllers say of it.
    #[serde(default)]
    pub status: ServiceExportStatus,
}

/// What goes with an exported Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceExportSpec {
    /// Labels for the importing clusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exported_labels: BTreeMap<String, String>,
    /// Annotations for the importing clusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exported_annotations: BTreeMap<String, String>,
}

/// What controllers say of a `ServiceExport`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceExportStatus {
    /// [`VALID`](ServiceExport::VALID), [`READY`](ServiceExport::READY) and [`CONFLICT`](ServiceExport::CONFLICT), and
    /// other controllers' own.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl McsVersion {
    /// The preferred one first.
    pub const ALL: [Self; 2] = [Self::V1Beta1, Self::V1Alpha1];

    /// As in an `apiVersion`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1Beta1 => "v1beta1",
            Self::V1Alpha1 => "v1alpha1",
        }
    }
}

impl ServiceExport {
    /// The kind.
    pub const KIND: &str = kind::SERVICE_EXPORT.name;
    /// Condition: the Service can be exported.
    pub const VALID: &str = "Valid";
    /// Condition: the export is where other clusters find it.
    pub const READY: &str = "Ready";
    /// Condition: clusters disagree about the Service.
    pub const CONFLICT: &str = "Conflict";

    /// The tier that its annotation names.
    pub fn default_tier(&self) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(WAN_POLICY_ANNOTATION).map(String::as_str)
    }
}

// Of the version that is served.
resource!(ServiceExport as McsVersion, |_| kind::SERVICE_EXPORT, McsVersion::as_str);

#[cfg(test)]
mod tests {
    use kube_core::Resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn either_version_can_be_asked_for() {
        let paths = McsVersion::ALL.map(|version| ServiceExport::url_path(&version, Some("secure")));
        let path = |version| format!("/apis/multicluster.x-k8s.io/{version}/namespaces/secure/serviceexports");
        assert_eq!(paths, [path("v1beta1"), path("v1alpha1")]);
    }

    #[test]
    fn the_annotation_names_the_default_tier() -> Result<(), serde_json::Error> {
        let table = [
            (json!({}), None, "no annotation"),
            (json!({"annotations": {"a": "b"}}), None, "another one"),
            (json!({"annotations": {WAN_POLICY_ANNOTATION: "low"}}), Some("low"), "ours"),
        ];
        for (metadata, tier, message) in table {
            let export: ServiceExport = serde_json::from_value(json!({"metadata": metadata}))?;
            assert_eq!(export.default_tier(), tier, "{message}");
        }
        Ok(())
    }
}
