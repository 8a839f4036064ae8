//! What is served: which version of the Multi-Cluster Services API, and of our own kinds those that a registry may lack.

use std::time::Duration;

use kube::Client;
use mcwan_core::api::service_export::McsVersion;
use mcwan_core::kind::KindInfo;
use mcwan_core::watched::Watched;
use tokio::time::sleep;

/// How often it is looked whether a newer version is served: somebody has just installed it, and it costs one request.
const PERIOD: Duration = Duration::from_secs(30);

/// What the API server serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// This version, and no newer one.
    Version(McsVersion),
    /// No version.
    Nothing,
}

/// The newest version of a kind of the Multi-Cluster Services API that is served.
pub(super) async fn newest(client: &Client, kind: &KindInfo) -> kube::Result<Served> {
    for version in McsVersion::ALL {
        if is_served(client, kind, version.as_str()).await? {
            return Ok(Served::Version(version));
        }
    }
    Ok(Served::Nothing)
}

/// Whether an API server says of itself that it does not have a kind. None lacks those of the core.
pub(super) async fn is_lacking(client: &Client, kind: &KindInfo) -> kube::Result<bool> {
    match kind.versions.last() {
        Some(version) if !kind.group.is_empty() => is_served(client, kind, version).await.map(|is_served| !is_served),
        _ => Ok(false),
    }
}

/// Whether a registry has a kind that it may lack. A list does not tell: rights are looked at first, and one that lacks the
/// kind gives none to it. That the whole group is not found is an error: no registry lacks it, and so it is somebody else who
/// answers, such as a load balancer while the registry is away.
pub(crate) async fn is_there(registry: &Client, kind: &KindInfo) -> kube::Result<bool> {
    match kind.versions.last() {
        Some(version) => has_kind(registry, kind, version).await,
        None => Ok(false),
    }
}

/// Ends when a newer version than the one in use is served; never for what has only one.
pub(super) async fn superseded(client: Client, kind: Watched, used: McsVersion) {
    if !kind.info().is_of_mcs() || used == McsVersion::ALL[0] {
        return std::future::pending().await;
    }
    loop {
        sleep(PERIOD).await;
        if newest(&client, kind.info()).await.is_ok_and(|served| served != Served::Version(used)) {
            return;
        }
    }
}

/// Whether an API server serves a version of a kind. That its group is not found, a load balancer says, too, while the API server
/// is away, and that it is not listed, an API server that begins: it is lacking only if both is so.
async fn is_served(client: &Client, kind: &KindInfo, version: &str) -> kube::Result<bool> {
    let groups = client.list_api_groups().await?.groups;
    let mut versions = groups.iter().filter(|group| group.name == kind.group).flat_map(|group| &group.versions);
    let is_listed = versions.any(|served| served.version == version);
    match has_kind(client, kind, version).await {
        Err(error) if is_not_there(&error) && !is_listed => Ok(false),
        answer => answer,
    }
}

/// Whether an API server does not have what it was asked for.
pub(crate) fn is_not_there(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether a version of a group has a kind; an error where the group or the version is not found.
async fn has_kind(client: &Client, kind: &KindInfo, version: &str) -> kube::Result<bool> {
    let list = client.list_api_group_resources(&format!("{}/{version}", kind.group)).await?;
    Ok(list.resources.iter().any(|resource| resource.kind == kind.name))
}
