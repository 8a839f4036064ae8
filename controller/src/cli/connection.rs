//! The API server that a command asks.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::registry::is_local;

/// How long a command waits for the next piece of an answer. Nothing that it asks for is watched.
const READ: Duration = Duration::from_secs(30);

/// The API server that a command asks.
#[derive(Debug, Args)]
pub(super) struct Connection {
    /// The kubeconfig file; without it, that of kubectl
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Connection {
    /// Where it is, and who we are there. The default namespace is the context's.
    pub(super) async fn config(&self) -> anyhow::Result<Config> {
        match &self.kubeconfig {
            Some(file) => from_file(file, self.context.as_deref()).await,
            None => usual(self.context.as_deref()).await,
        }
    }
}

/// What kubectl's kubeconfig says, or who we are as a pod, where there is none. One that is there and cannot be used does not
/// lead to another cluster.
pub(super) async fn usual(context: Option<&str>) -> anyhow::Result<Config> {
    let kubeconfig = match env::var_os("KUBECONFIG").filter(|files| !files.is_empty()) {
        Some(files) => merged(env::split_paths(&files)),
        None => merged(env::home_dir().map(|home| home.join(".kube/config"))),
    };
    if let Some(kubeconfig) = kubeconfig.context("the kubeconfig cannot be used")? {
        return of_kubeconfig(kubeconfig, context).await;
    }
    ensure!(context.is_none(), "there is no kubeconfig that --context could be of");
    let config = Config::incluster().context("there is no cluster to ask: give --kubeconfig or set KUBECONFIG")?;
    Ok(with_bounds(config))
}

/// What a kubeconfig file says.
pub(super) async fn from_file(file: &Path, context: Option<&str>) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(file);
    let kubeconfig = kubeconfig.with_context(|| format!("the kubeconfig {} cannot be used", file.display()))?;
    of_kubeconfig(kubeconfig, context).await
}

/// What the text of a kubeconfig says that a cluster has for a program of its own. The programs and files that one can name
/// would be those of this machine, for whoever may write there.
pub(super) async fn from_text(text: &str) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::from_yaml(text).context("the kubeconfig cannot be read")?;
    let mut users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let mut clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let names_programs = |user: &AuthInfo| user.exec.is_some() || user.auth_provider.is_some();
    let names_files = |user: &AuthInfo| {
        [&user.token_file, &user.client_certificate, &user.client_key].into_iter().any(Option::is_some)
    };
    ensure!(
        !users.any(|user| names_programs(user) || names_files(user))
            && clusters.all(|cluster| cluster.certificate_authority.is_none()),
        "the kubeconfig names programs or files, which one from a cluster must not"
    );
    of_kubeconfig(kubeconfig, None).await
}

/// What several files say together, of which each thing's first holds, as kubectl has it; none, where none is there, or nothing in
/// them.
fn merged(files: impl IntoIterator<Item = PathBuf>) -> Result<Option<Kubeconfig>, KubeconfigError> {
    let mut merged: Option<Kubeconfig> = None;
    // One that cannot be looked for is an error, too.
    for file in files.into_iter().filter(|file| file.try_exists().unwrap_or(true)) {
        let next = Kubeconfig::read_from(file)?;
        merged = Some(match merged {
            Some(before) => before.merge(next)?,
            None => next,
        });
    }
    let is_empty =
        |merged: &Kubeconfig| merged.clusters.is_empty() && merged.contexts.is_empty() && merged.auth_infos.is_empty();
    Ok(merged.filter(|merged| !is_empty(merged)))
}

async fn of_kubeconfig(kubeconfig: Kubeconfig, context: Option<&str>) -> anyhow::Result<Config> {
    let has_own_proxy = has_own_proxy(&kubeconfig, context);
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.context("the kubeconfig cannot be used")?;
    // kube takes the proxy of the environment for every server.
    if !has_own_proxy && !is_proxied(&config.cluster_url, &Matcher::from_env()) {
        config.proxy_url = None;
    }
    Ok(with_bounds(config))
}

/// Whether the kubeconfig itself says through which proxy the cluster of a context is asked.
fn has_own_proxy(kubeconfig: &Kubeconfig, context: Option<&str>) -> bool {
    let name = context.or(kubeconfig.current_context.as_deref());
    let context = kubeconfig.contexts.iter().find(|named| Some(&*named.name) == name);
    let cluster = context.and_then(|named| named.context.as_ref()).map(|context| &*context.cluster);
    let cluster = kubeconfig.clusters.iter().find(|named| Some(&*named.name) == cluster);
    let proxy = cluster.and_then(|named| named.cluster.as_ref()?.proxy_url.as_deref());
    proxy.is_some_and(|proxy| !proxy.is_empty())
}

/// Whether a server is asked through the proxy of the environment: not one that `NO_PROXY` names, nor one of this machine.
fn is_proxied(server: &Uri, proxies: &Matcher) -> bool {
    !is_local(server) && proxies.intercept(server).is_some()
}

fn with_bounds(mut config: Config) -> Config {
    config.read_timeout = Some(READ);
    config
}

/// Ends once a file has another content than before; looks at it so often. While it cannot be read, it counts as it was.
pub(super) async fn until_changed(file: &Path, before: &[u8], period: Duration) {
    loop {
        tokio::time::sleep(period).await;
        if fs::read(file).is_ok_and(|content| content != before) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "{name: c, cluster: {server: 'https://10.0.0.5:6443'}}";
    const TOKEN: &str = "{name: u, user: {token: t}}";

    fn mk_kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "{{current-context: x, clusters: [{cluster}], users: [{user}], \
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]}}"
        )
    }

    #[tokio::test]
    async fn what_a_cluster_has_runs_nothing_and_reads_nothing_of_ours() {
        let config = from_text(&mk_kubeconfig(SERVER, TOKEN)).await.unwrap();
        assert_eq!(config.cluster_url, "https://10.0.0.5:6443");
        let with_file = "{name: c, cluster: {server: 'https://10.0.0.5', certificate-authority: /etc/passwd}}";
        let mut texts = vec![mk_kubeconfig(with_file, TOKEN)];
        for field in [
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: 'true'}",
            "auth-provider: {name: gcp, config: {cmd-path: 'true'}}",
            "tokenFile: /etc/passwd",
            "client-certificate: /etc/passwd",
            "client-key: /etc/passwd",
        ] {
            texts.push(mk_kubeconfig(SERVER, &format!("{{name: u, user: {{{field}}}}}")));
            texts.push(mk_kubeconfig(SERVER, &format!("{TOKEN}, {{name: other, user: {{{field}}}}}")));
        }
        for text in texts {
            let error = from_text(&text).await.unwrap_err().to_string();
            assert!(error.contains("names programs or files"), "{text}: {error}");
        }
    }

    #[test]
    fn files_that_are_not_there_are_left_out_and_broken_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let [missing, good, broken] = ["missing", "good", "broken"].map(|name| folder.path().join(name));
        fs::write(&good, mk_kubeconfig(SERVER, TOKEN)).unwrap();
        fs::write(&broken, "{").unwrap();
        assert!(merged([missing.clone()]).unwrap().is_none());
        let found = merged([missing.clone(), good.clone()]).unwrap().unwrap();
        assert_eq!(found.current_context.as_deref(), Some("x"));
        let empty = folder.path().join("empty");
        fs::write(&empty, "").unwrap();
        assert!(merged([empty]).unwrap().is_none(), "as KUBECONFIG=/dev/null");
        merged([good, broken.clone()]).unwrap_err();
        merged([missing, broken]).unwrap_err();
    }

    #[test]
    fn a_proxy_is_that_of_the_cluster_that_is_asked() {
        let clusters = "{name: d, cluster: {server: 'https://d', proxy-url: 'http://proxy:3128'}}";
        let text = mk_kubeconfig(&format!("{SERVER}, {clusters}"), TOKEN);
        let mut kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        assert!(!has_own_proxy(&kubeconfig, None), "another cluster has one");
        kubeconfig.contexts[0].context.as_mut().unwrap().cluster = "d".to_owned();
        assert!(has_own_proxy(&kubeconfig, None) && has_own_proxy(&kubeconfig, Some("x")));
        assert!(!has_own_proxy(&kubeconfig, Some("y")), "there is no such context");
    }

    #[test]
    fn servers_that_no_proxy_names_are_asked_directly() {
        let proxies = Matcher::builder().https("http://proxy:3128").no("10.0.0.0/8,.near.example").build();
        for (server, expected) in [
            ("https://192.0.2.1:6443", true),
            ("https://hub.example", true),
            ("https://10.0.0.5:6443", false),
            ("https://hub.near.example", false),
            ("https://127.0.0.1:6443", false),
        ] {
            assert_eq!(is_proxied(&server.parse().unwrap(), &proxies), expected, "{server}");
        }
    }

    #[tokio::test]
    async fn a_file_that_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        fs::write(&file, "token: a").unwrap();
        let period = Duration::from_millis(1);
        let mut changed = std::pin::pin!(until_changed(&file, b"token: a", period));
        assert!(tokio::time::timeout(50 * period, &mut changed).await.is_err(), "it is as it was");
        fs::remove_file(&file).unwrap();
        assert!(tokio::time::timeout(50 * period, &mut changed).await.is_err(), "it may come again");
        fs::write(&file, "token: b").unwrap();
        changed.await;
    }
}
