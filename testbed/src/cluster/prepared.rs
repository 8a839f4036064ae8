//! What etcd holds once all custom resources are served. An API server starts in half of the time on that: to admit their
//! definitions is what costs it most.

use std::path::PathBuf;

use anyhow::Result;
use tokio::sync::OnceCell;

use super::control_plane::Files;
use super::folder::Folder;
use super::{Crds, TestCluster};
use crate::network::Network;

static PREPARED: OnceCell<Folder> = OnceCell::const_new();

/// The folder of etcd's data, in which [`Crds::ALL`] are defined and nothing else is. The first who asks has it made; it
/// goes with this process.
pub(super) async fn data() -> Result<PathBuf> {
    let folder = PREPARED.get_or_try_init(prepare).await?;
    Ok(Files::new(folder.path()).data())
}

async fn prepare() -> Result<Folder> {
    let folder = Folder::new()?;
    let cluster = TestCluster::serve(Network::default(), folder.path(), None).await?;
    cluster.install_all_crds(&Crds::ALL).await?;
    // No other controller has run: what they write is of this cluster alone, such as who signs its certificates.
    drop(cluster);
    Ok(folder)
}
