//! What makes an API server a registry.

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::kubernetes::MANAGED_BY_LABEL;
use mcwan_core::json::{put, put_at};
use mcwan_core::kind::{self, KindInfo};
use serde_json::Value;

use super::{MANAGER, ObjectName, POLICY, ROLE};

/// An object in its wanted state.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    pub(super) object: ObjectName,
    pub(super) body: Value,
    pub(super) shared: Shared,
}

/// Who has a say in an object beside us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// Nobody.
    No,
    /// Kubernetes, which adds to it.
    WithKubernetes,
    /// What installs mcwan on the same API server, and brings it along: then it is upgraded with that.
    WithMcwan,
}

impl Manifest {
    /// Gives an object its content, and our label.
    pub(super) fn new(object: ObjectName, mut body: Value, shared: Shared) -> Self {
        put_at(&mut body, &["metadata", "labels", MANAGED_BY_LABEL], MANAGER);
        Self { object, body, shared }
    }

    /// The whole manifest.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Whether it defines a kind.
    pub fn defines_a_kind(&self) -> bool {
        self.object.resource.kind == "CustomResourceDefinition"
    }

    /// Which object this is.
    pub fn object(&self) -> &ObjectName {
        &self.object
    }
}

/// Everything that makes an API server a registry, in the order in which it is applied.
///
/// # Errors
/// A file of `manifests/` is no YAML; the tests read each.
pub fn manifests() -> Result<[Manifest; 9], serde_saphyr::Error> {
    let read = |object, file, shared| Ok(Manifest::new(object, serde_saphyr::from_str(file)?, shared));
    let crd = |kind: KindInfo, file| {
        let object = ObjectName::global::<CustomResourceDefinition>(format!("{}.{}", kind.plural, kind.group));
        read(object, file, Shared::WithMcwan)
    };
    Ok([
        read(
            ObjectName::global::<Namespace>(REGISTRY_NAMESPACE),
            include_str!("../../../manifests/registry/namespace.yaml"),
            Shared::WithMcwan,
        )?,
        crd(kind::EXPORTED_SERVICE, include_str!("../../../manifests/crds/exportedservices.yaml"))?,
        crd(kind::EXPORTED_ENDPOINTS, include_str!("../../../manifests/crds/exportedendpoints.yaml"))?,
        crd(kind::WAN_CLUSTER, include_str!("../../../manifests/crds/wanclusters.yaml"))?,
        crd(kind::CONNECTION_POLICY, include_str!("../../../manifests/crds/clusterconnectionpolicies.yaml"))?,
        // What guards comes before what may be written.
        read(
            ObjectName::global::<ValidatingAdmissionPolicy>(POLICY),
            include_str!("../../../manifests/registry/policy.yaml"),
            Shared::No,
        )?,
        read(
            ObjectName::global::<ValidatingAdmissionPolicyBinding>(POLICY),
            include_str!("../../../manifests/registry/binding.yaml"),
            Shared::No,
        )?,
        read(
            ObjectName::of_registry::<ResourceQuota>(POLICY),
            include_str!("../../../manifests/registry/quota.yaml"),
            Shared::WithMcwan,
        )?,
        read(ObjectName::of_registry::<Role>(ROLE), include_str!("../../../manifests/registry/role.yaml"), Shared::No)?,
    ])
}

/// An object that nobody else installs: what `body` says beside its kind and name.
pub(super) fn ours(object: ObjectName, body: Value) -> Manifest {
    let Manifest { object, body, shared } = part(object, body);
    Manifest::new(object, body, shared)
}

/// What we say of an object that is another's.
pub(super) fn part(object: ObjectName, mut body: Value) -> Manifest {
    put(&mut body, "apiVersion", object.resource.api_version.as_str());
    put(&mut body, "kind", object.resource.kind.as_str());
    put_at(&mut body, &["metadata", "name"], object.name.as_str());
    put_at(&mut body, &["metadata", "namespace"], object.namespace);
    Manifest { object, body, shared: Shared::WithKubernetes }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_file_holds_what_it_is_taken_for() {
        for manifest in manifests().unwrap() {
            let Manifest { object, body, .. } = manifest;
            assert_eq!(body["apiVersion"], object.resource.api_version, "{object}");
            assert_eq!(body["kind"], object.resource.kind, "{object}");
            assert_eq!(body["metadata"]["name"], object.name, "{object}");
            assert_eq!(body["metadata"]["namespace"], json!(object.namespace), "{object}");
            assert_eq!(body["metadata"]["labels"], json!({MANAGED_BY_LABEL: MANAGER}), "{object}");
        }
    }

    #[test]
    fn there_is_an_end_to_what_a_cluster_publishes() {
        let quota = manifests().unwrap().into_iter().find(|manifest| manifest.object.resource.kind == "ResourceQuota");
        let quota = quota.expect("the registry has a quota");
        let bounds = quota.body["spec"]["hard"].as_object().unwrap();
        let kinds = ["clusterconnectionpolicies", "exportedendpoints", "exportedservices", "wanclusters"];
        let kinds = kinds.map(|ours| format!("{ours}.mc-wan.l7mp.io"));
        for kind in kinds.into_iter().chain(["leases.coordination.k8s.io".to_owned()]) {
            let bound = bounds[&format!("count/{kind}")].as_str().unwrap().parse::<usize>().unwrap();
            assert!((1..=mcwan_policy::limits::IMPORTS).contains(&bound), "{kind}: {bound}");
        }
        let chart = include_str!("../../../manifests/chart/templates/namespaces.yaml");
        for (kind, bound) in bounds {
            assert!(chart.contains(&format!("{kind}: {bound}")), "the chart's differs: {kind}");
        }
    }

    #[test]
    fn the_policy_is_bound_and_guards_the_registry() {
        let [_, _, _, _, _, policy, binding, _, _] = manifests().unwrap();
        assert_eq!(binding.body["spec"]["policyName"], policy.object.name);
        let text = serde_json::to_string(&policy.body).unwrap();
        assert!(text.contains(&format!("system:serviceaccount:{REGISTRY_NAMESPACE}:")), "{text}");
        let selector = &policy.body["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"];
        assert_eq!(selector, &json!({"kubernetes.io/metadata.name": REGISTRY_NAMESPACE}));
        assert_eq!(policy.body["spec"]["failurePolicy"], "Fail");
    }

    #[test]
    fn the_cluster_that_holds_the_registry_is_bound_by_the_same_rules() {
        let [_, _, _, _, _, policy, _, _, _] = manifests().unwrap();
        let installed: Vec<Value> = serde_saphyr::from_multiple(include_str!("../../../manifests/mcwan.yaml")).unwrap();
        let host = |kind: &str| {
            let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == "mcwan-registry-host";
            installed.iter().find(is_it).expect("it is installed")["spec"].clone()
        };
        let mut rules = policy.body["spec"].clone();
        rules["matchConditions"][0]["expression"] =
            json!("request.userInfo.username == 'system:serviceaccount:mc-wan-system:mcwan'");
        assert_eq!(rules["variables"][0]["name"], "cluster");
        let nobody = "(not told which one it is: see manifests/README.md)";
        assert!(nobody.parse::<crate::registry::ClusterName>().is_err());
        rules["variables"][0]["expression"] = json!(format!("'{nobody}'"));
        assert_eq!(host("ValidatingAdmissionPolicy"), rules);
        let binding = host("ValidatingAdmissionPolicyBinding");
        assert_eq!(binding, json!({"policyName": "mcwan-registry-host", "validationActions": ["Deny"]}));
    }
}
