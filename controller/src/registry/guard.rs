//! Whether the API server keeps a cluster to what is its own.

use kube::api::PostParams;
use kube::config::AuthInfo;
use kube::{Api, Client, Config, ResourceExt};
use mcwan_core::api::{REGISTRY_NAMESPACE, WanCluster, WanClusterSpec};

use super::deadline::until;
use super::{ClusterName, ObjectName, POLICY, RegistryError, Server};

/// Names of which at least one is another cluster's.
const OTHERS: [&str; 2] = ["another-cluster", "one-more-cluster"];

/// What the API server does with what a cluster writes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// It takes what is the cluster's, and refuses what is not: what is another's, and labels.
    Guarded,
    /// It takes what is not.
    Unguarded,
    /// It does not take what is the cluster's.
    Refused(String),
}

/// A client of the same API server for who has a token.
///
/// # Errors
/// The configuration cannot be used.
pub fn client_with(token: &str, config: &Config) -> Result<Client, kube::Error> {
    let mut config = config.clone();
    config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    Client::try_from(config)
}

impl Server {
    /// Waits until a cluster, as `client`, may write what is its own, and nothing else. Nothing is written.
    ///
    /// # Errors
    /// That does not come in time, or the API server does not answer. Where the cluster could write what is not its own,
    /// its rights are taken back.
    pub async fn wait_until_guarded(&self, cluster: &ClusterName, client: &Client) -> Result<(), RegistryError> {
        let mut last = None;
        let guarded = until(self.deadline, async || {
            let verdict = verdict(cluster, client).await?;
            let is_guarded = verdict == Verdict::Guarded;
            last = Some(verdict);
            Ok::<_, RegistryError>(is_guarded.then_some(()))
        });
        let guarded = guarded.await?;
        match (guarded, last) {
            (Some(()), _) => Ok(()),
            (None, Some(Verdict::Unguarded)) => {
                self.delete(&ObjectName::rights(cluster)).await?;
                Err(RegistryError::Unguarded { cluster: cluster.clone() })
            }
            (None, Some(Verdict::Refused(why))) => {
                Err(self.overdue(format!("{cluster} may write; the API server says: {why}")))
            }
            (None, _) => Err(self.overdue(format!("{cluster} may write"))),
        }
    }

    /// Waits until the API server takes nothing more from who has a cluster's token.
    ///
    /// # Errors
    /// It still does after some time, or does not answer.
    pub async fn wait_until_refused(&self, cluster: &ClusterName, client: &Client) -> Result<(), RegistryError> {
        let refused = until(self.deadline, async || {
            let verdict = verdict(cluster, client).await?;
            Ok::<_, RegistryError>(matches!(verdict, Verdict::Refused(_)).then_some(()))
        });
        let overdue = || self.overdue(format!("the API server refuses what {cluster} writes"));
        refused.await?.ok_or_else(overdue)
    }
}

/// Tries to write, as a dry run.
async fn verdict(cluster: &ClusterName, client: &Client) -> Result<Verdict, RegistryError> {
    let own = WanCluster::new(cluster.as_str(), WanClusterSpec::default());
    if let Err(refusal) = try_to_write(&own, client).await? {
        return Ok(Verdict::Refused(refusal));
    }
    let mut labelled = own;
    labelled.labels_mut().insert("example.com/label".to_owned(), String::new());
    let Some(other) = OTHERS.into_iter().find(|other| *other != cluster.as_str()) else {
        return Ok(Verdict::Unguarded);
    };
    for forbidden in [WanCluster::new(other, WanClusterSpec::default()), labelled] {
        match try_to_write(&forbidden, client).await? {
            Ok(()) => return Ok(Verdict::Unguarded),
            Err(refusal) if refusal.contains(&format!("ValidatingAdmissionPolicy '{POLICY}'")) => {}
            Err(refusal) => return Ok(Verdict::Refused(refusal)),
        }
    }
    Ok(Verdict::Guarded)
}

/// Whether the API server would take a `WANCluster`; why not, if it would not.
async fn try_to_write(cluster: &WanCluster, client: &Client) -> Result<Result<(), String>, RegistryError> {
    let clusters: Api<WanCluster> = Api::namespaced(client.clone(), REGISTRY_NAMESPACE);
    let params = PostParams { dry_run: true, ..PostParams::default() };
    match clusters.create(&params, cluster).await {
        Ok(_) => Ok(Ok(())),
        // It is there already; whether one may write comes first.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Ok(())),
        Err(kube::Error::Api(status)) => Ok(Err(status.message)),
        Err(error) => Err(RegistryError::Unreachable(error)),
    }
}
