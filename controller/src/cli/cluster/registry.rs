//! Where the registry of a cluster is.

use std::path::Path;

use anyhow::{Context, bail};
use k8s_openapi::api::coordination::v1::Lease as KubernetesLease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::liveness::Lease;

use super::SYSTEM_NAMESPACE;
use super::deployment::Pod;
use crate::cli::connection::from_text;
use crate::cli::lease::is_renewed;

/// The variable that names the file of the registry's kubeconfig to the controller.
const VARIABLE: &str = "MCWAN_REGISTRY_KUBECONFIG";
/// The Secret that has it, and its entry, where the variable is not set.
const SECRET: (&str, &str) = ("mcwan-registry", "kubeconfig");

/// What to do where the kubeconfig is not to be had.
const HINT: &str = "give --registry-kubeconfig";

/// Where the controller has the registry's kubeconfig from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Registry {
    /// From nowhere: the registry is its own API server.
    #[default]
    Own,
    /// From an entry of a Secret of its namespace.
    Secret { name: String, entry: String },
    /// From a file that we do not know where to find.
    File(String),
}

impl Registry {
    /// What the pods of the controller say.
    pub(super) fn of(pod: &Pod) -> Self {
        let mut variables = pod.containers.iter().flat_map(|container| &container.env);
        let file = variables.find(|variable| variable.name == VARIABLE).and_then(|variable| variable.value.as_deref());
        match file.filter(|file| !file.is_empty()) {
            Some(file) => mounted_at(pod, file).unwrap_or_else(|| Self::File(file.to_owned())),
            None if secrets(pod).any(|(_, secret)| secret == SECRET.0) => {
                Self::Secret { name: SECRET.0.to_owned(), entry: SECRET.1.to_owned() }
            }
            None => Self::Own,
        }
    }

    /// A client of it; `client` is one of the cluster.
    pub(super) async fn client(&self, client: &Client) -> anyhow::Result<Client> {
        let (name, entry) = match self {
            Self::Own => return Ok(client.clone()),
            Self::Secret { name, entry } => (name, entry),
            Self::File(file) => {
                bail!(
                    "the controller has the kubeconfig of the registry from {file}, which is not to be had here: {HINT}"
                )
            }
        };
        let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        let what = format!("the kubeconfig of the registry is in Secret {SYSTEM_NAMESPACE}/{name}");
        let secret = match secrets.get_opt(name).await {
            Ok(Some(secret)) => secret,
            Ok(None) => bail!("{what}, which is not there: {HINT}"),
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                bail!("{what}, which is not for you to see: {HINT}")
            }
            Err(error) => return Err(error).context(what),
        };
        let data = secret.data.unwrap_or_default();
        let text = data.get(entry).with_context(|| format!("{what}, which has no entry {entry}"))?;
        let text = std::str::from_utf8(&text.0).with_context(|| format!("{what}, which is no text"))?;
        Ok(Client::try_from(from_text(text).await.context(what)?)?)
    }
}

/// The Secret whose entry is mounted as a file.
fn mounted_at(pod: &Pod, file: &str) -> Option<Registry> {
    let mounts = pod.containers.iter().flat_map(|container| &container.volume_mounts);
    let mut found = mounts.filter_map(|mount| {
        let entry = Path::new(file).strip_prefix(&mount.mount_path).ok()?.to_str()?.to_owned();
        let (_, secret) = secrets(pod).find(|(volume, _)| *volume == mount.name)?;
        Some(Registry::Secret { name: secret.to_owned(), entry })
    });
    found.next()
}

/// The volumes that are Secrets, with the names of these.
fn secrets(pod: &Pod) -> impl Iterator<Item = (&str, &str)> {
    pod.volumes.iter().filter_map(|volume| Some((&*volume.name, &*volume.secret.as_ref()?.secret_name)))
}

/// What the Lease of a cluster says, as its controller renews it; none where nobody says anything any more, or it is not for us
/// to see.
pub(super) async fn lease(registry: &Client, cluster: &str) -> anyhow::Result<Option<Lease>> {
    let leases: Api<KubernetesLease> = Api::namespaced(registry.clone(), REGISTRY_NAMESPACE);
    let lease = match leases.get_opt(cluster).await {
        Err(kube::Error::Api(status)) if status.is_forbidden() => None,
        answer => answer.with_context(|| format!("the Lease of {cluster} in the registry cannot be read"))?,
    };
    let now = Time(Timestamp::now());
    let is_told = |lease: &KubernetesLease| lease.spec.as_ref().is_some_and(|spec| is_renewed(spec, &now));
    Ok(lease.filter(is_told).map(serde_json::to_value).transpose()?.map(|lease| Lease::of(&lease)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mk_pod(env: &Value, volumes: &Value) -> Pod {
        let mounts =
            json!([{"name": "other", "mountPath": "/tmp"}, {"name": "registry", "mountPath": "/etc/registry"}]);
        let container = json!({"name": "mcwan", "env": env, "volumeMounts": mounts});
        serde_json::from_value(json!({"containers": [container], "volumes": volumes})).unwrap()
    }

    #[test]
    fn it_is_where_the_controller_has_it_from() {
        let file = |path| json!([{"name": VARIABLE, "value": path}]);
        let secret = |name| json!([{"name": "registry", "secret": {"secretName": name}}, {"name": "other"}]);
        let from = |name: &str, entry: &str| Registry::Secret { name: name.to_owned(), entry: entry.to_owned() };
        let unknown = Registry::File("/tmp/kubeconfig".to_owned());
        let table = [
            (json!([]), json!([]), Registry::Own, "nothing is said"),
            (file(""), json!([]), Registry::Own, "an empty variable"),
            (file("/etc/registry/a"), secret("b"), from("b", "a"), "a file of a Secret"),
            (json!([]), secret("mcwan-registry"), from("mcwan-registry", "kubeconfig"), "the usual Secret"),
            (json!([]), secret("b"), Registry::Own, "another Secret"),
            (file("/tmp/kubeconfig"), secret("b"), unknown, "a file of something else"),
        ];
        for (env, volumes, expected, message) in table {
            assert_eq!(Registry::of(&mk_pod(&env, &volumes)), expected, "{message}");
        }
    }
}
