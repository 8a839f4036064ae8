//! Data of etcd that clusters start with.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::sync::OnceCell;

use super::control_plane::Files;
use super::folder::Folder;

static PREPARED: OnceCell<Folder> = OnceCell::const_new();

/// The folder of data that `prepare` leaves, given the folder of a control plane's files, which must have ended by then. The
/// first who asks has it made, for everybody; it goes with this process.
///
/// # Errors
/// Those of `prepare`; the next who asks tries again.
pub(super) async fn data(prepare: impl AsyncFnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let make = async || {
        let folder = Folder::new()?;
        prepare(folder.path()).await?;
        anyhow::Ok(folder)
    };
    let folder = PREPARED.get_or_try_init(make).await?;
    Ok(Files::new(folder.path()).data())
}
