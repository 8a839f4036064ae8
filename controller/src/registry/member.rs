//! One cluster's access to the registry.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use mcwan_core::api::{REGISTRY_NAMESPACE, WanClusterSpec};
use mcwan_core::emit::kubernetes::cluster_object_of;
use mcwan_core::json::put_at;
use mcwan_core::observed::FIELD_MANAGER;
use serde_json::{Map, json};

use super::deadline::until;
use super::manifest::{Manifest, ours, part};
use super::{Applied, ClusterLabel, ClusterName, ObjectName, POLICY, ROLE, RegistryError, Server};
use crate::apply::NO_VERSION;

/// The annotations of a token's Secret: whose it is. Kubernetes sets the second.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

impl Manifest {
    /// Who a cluster is.
    pub fn account(cluster: &ClusterName) -> Self {
        ours(ObjectName::account(cluster), json!({"automountServiceAccountToken": false}))
    }

    /// What a cluster may do.
    pub fn rights(cluster: &ClusterName) -> Self {
        let body = json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROLE},
            "subjects": [{"kind": "ServiceAccount", "name": cluster.as_str(), "namespace": REGISTRY_NAMESPACE}],
        });
        ours(ObjectName::rights(cluster), body)
    }

    /// By what a cluster proves who it is. Kubernetes fills it with a token, which lasts as long as this does.
    pub fn token(cluster: &ClusterName) -> Self {
        let body = json!({
            "metadata": {"annotations": {ACCOUNT_NAME: cluster.as_str()}},
            "type": "kubernetes.io/service-account-token",
        });
        ours(ObjectName::token(cluster), body)
    }

    /// By what policies select a cluster, and nothing else that is said of it.
    pub(super) fn labels(cluster: &ClusterName, labels: &[ClusterLabel]) -> Self {
        let labels = labels.iter().map(|label| (label.key.clone(), label.value.as_str().into()));
        part(ObjectName::wan_cluster(cluster), json!({"metadata": {"labels": labels.collect::<Map<_, _>>()}}))
    }
}

impl Server {
    /// Sees that the registry has been prepared.
    ///
    /// # Errors
    /// It has not, or the API server does not answer.
    pub async fn is_prepared(&self) -> Result<(), RegistryError> {
        for object in [
            ObjectName::global::<Namespace>(REGISTRY_NAMESPACE),
            ObjectName::global::<ValidatingAdmissionPolicy>(POLICY),
            ObjectName::global::<ValidatingAdmissionPolicyBinding>(POLICY),
            ObjectName::of_registry::<Role>(ROLE),
        ] {
            if self.look(&object).await?.is_none() {
                return Err(RegistryError::NotPrepared { missing: object.to_string() });
            }
        }
        Ok(())
    }

    /// Gives a cluster these labels, and takes away those that it got here before. Where it has told nothing yet, its
    /// `WANCluster` is made as its controller would, which takes it for its own; the labels are ours, or the controller's
    /// next apply would take them away.
    ///
    /// # Errors
    /// The API server refuses, or does not answer.
    pub async fn label(&self, cluster: &ClusterName, labels: &[ClusterLabel]) -> Result<Applied, RegistryError> {
        let object = ObjectName::wan_cluster(cluster);
        let is_new = self.look(&object).await?.is_none();
        if is_new {
            let mut body = cluster_object_of(cluster.as_str(), &WanClusterSpec::default()).body;
            put_at(&mut body, &["metadata", "resourceVersion"], NO_VERSION);
            let params = PatchParams::apply(FIELD_MANAGER);
            match self.api(&object).patch(&object.name, &params, &Patch::Apply(body)).await {
                // Its controller was faster.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                made => made.map(drop).map_err(|error| RegistryError::new(&object, error))?,
            }
        }
        let labelled = self.apply(&Manifest::labels(cluster, labels)).await?;
        Ok(if is_new { Applied::Created } else { labelled })
    }

    /// Waits until Kubernetes has given a cluster its token.
    ///
    /// # Errors
    /// It has not in time, or the API server refuses or does not answer.
    pub async fn wait_for_token(&self, cluster: &ClusterName) -> Result<String, RegistryError> {
        let secret = Manifest::token(cluster);
        let token = until(self.deadline, async || {
            let Some(account) = self.look(&ObjectName::account(cluster)).await? else { return Ok(None) };
            match self.look(&secret.object).await? {
                Some(secret) => Ok(token_for(&account, &secret)),
                // Kubernetes removes that of an account which is gone, even where there is a new one of its name.
                None => self.apply(&secret).await.map(|_| None),
            }
        });
        let overdue = || self.overdue(format!("Kubernetes puts a token into {}", ObjectName::token(cluster)));
        token.await?.ok_or_else(overdue)
    }

    /// The token of a cluster; none if it has none.
    ///
    /// # Errors
    /// The API server refuses or does not answer.
    pub async fn token(&self, cluster: &ClusterName) -> Result<Option<String>, RegistryError> {
        Ok(self.look(&ObjectName::token(cluster)).await?.as_ref().and_then(token_in))
    }
}

/// The token in a Secret, if it is one of this very account.
fn token_for(account: &DynamicObject, secret: &DynamicObject) -> Option<String> {
    let of = secret.metadata.annotations.as_ref()?.get(ACCOUNT_UID)?;
    if account.metadata.uid.as_ref() == Some(of) { token_in(secret) } else { None }
}

fn token_in(secret: &DynamicObject) -> Option<String> {
    let ByteString(token) = serde_json::from_value(secret.data.pointer("/data/token")?.clone()).ok()?;
    String::from_utf8(token).ok().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_an_earlier_account_is_not_taken() {
        let account = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "c1", "uid": "new"},
        }));
        let account = account.unwrap();
        let secret = |uid: &str, token: &str| {
            let metadata = json!({"name": "c1", "annotations": {ACCOUNT_NAME: "c1", ACCOUNT_UID: uid}});
            let data = json!({"token": ByteString(token.into())});
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}))
                .unwrap()
        };
        for (uid, token, expected, message) in [
            ("new", "t", Some("t"), "this account's"),
            ("old", "t", None, "that of one that is gone"),
            ("new", "", None, "none yet"),
        ] {
            assert_eq!(token_for(&account, &secret(uid, token)).as_deref(), expected, "{message}");
        }
    }
}
