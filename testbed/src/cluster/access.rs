//! Who asks the API server: kubeconfigs and clients.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tempfile::NamedTempFile;

use super::control_plane::{Files, TLS_NAME};

/// The user that may do everything.
pub(super) const ADMIN: &str = "admin";

/// Draws a token that nobody guesses.
pub(super) fn random_token() -> Result<String> {
    let mut token = [0; 16];
    getrandom::fill(&mut token)?;
    Ok(hex::encode(token))
}

/// Makes `token` the administrator's; the API server reads this when it starts.
pub(super) fn admit_admin(files: &Files, token: &str) -> Result<()> {
    let path = files.tokens();
    fs::write(&path, format!("{token},{ADMIN},{ADMIN},\"system:masters\"\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a kubeconfig for a user that has a token.
pub(super) fn write_kubeconfig(files: &Files, server: &str, user: &str, token: &str) -> Result<PathBuf> {
    let path = files.kubeconfig(user);
    let cluster = json!({
        "server": server,
        "tls-server-name": TLS_NAME,
        "certificate-authority": files.certificate(),
    });
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "mcwan",
        "clusters": [{"name": "mcwan", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "mcwan", "context": {"cluster": "mcwan", "user": user}}],
    });
    write_whole(&path, &format!("{kubeconfig:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Writes a file so that nobody reads half of it: replicas of one account have one kubeconfig, and start side by side.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// A client for whom a kubeconfig is.
pub(crate) async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
