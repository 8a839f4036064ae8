//! `mcwan registry join`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use clap::error::ErrorKind;
use mcwan_core::emit::yaml;

use super::{Hub, Word};
use crate::cli::cluster::{CONTROLLER, SYSTEM_NAMESPACE};
use crate::registry::{ClusterLabel, ClusterName, Endpoint, Manifest, ObjectName, ServerUrl, client_with};

/// Print the credentials of a cluster
///
/// Makes a service account of the cluster's name, and prints a kubeconfig with its token, which lasts until
/// `mcwan registry leave`. Joined again, a cluster gets the same. Nothing is printed before the API server was seen to
/// take from these credentials what is the cluster's, and to refuse what is another's.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Join {
    /// The name of the cluster, which its controller has as --cluster-id
    #[arg(value_name = "CLUSTER")]
    cluster: ClusterName,
    /// The URL of the API server as the cluster reaches it; without it, as the kubeconfig says
    #[arg(long, value_name = "URL")]
    server: Option<ServerUrl>,
    /// A label of the cluster, which policies select it by; may be repeated. Joined again, a cluster has these in place of
    /// those of before; without any, it has what it had. The cluster itself cannot change them
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<ClusterLabel>,
    #[command(flatten)]
    hub: Hub,
}

const AFTER_HELP: &str = "\
Examples:
  mcwan registry join cluster-2 > cluster-2.kubeconfig
  mcwan registry join cluster-2 --server https://hub.example.com:6443 > cluster-2.kubeconfig
  mcwan registry join cluster-3 --label env=cloud --label region=eu > cluster-3.kubeconfig";

impl Join {
    pub(super) async fn answer(&self) -> anyhow::Result<ExitCode> {
        self.check_labels()?;
        let config = self.hub.config().await?;
        let endpoint = Endpoint::new(&config, self.server.as_ref())?;
        let server = self.hub.server(&config)?;
        server.is_prepared().await?;
        let cluster = &self.cluster;
        // First of all: what it publishes never stands there without them.
        if !self.labels.is_empty() {
            let outcome = server.label(cluster, &self.labels).await?;
            writeln!(anstream::stderr(), "{} {}", ObjectName::wan_cluster(cluster), Word(&outcome))?;
        }
        for manifest in [Manifest::account(cluster), Manifest::token(cluster), Manifest::rights(cluster)] {
            let outcome = server.apply(&manifest).await?;
            writeln!(anstream::stderr(), "{} {}", manifest.object(), Word(&outcome))?;
        }
        let token = server.wait_for_token(cluster).await?;
        server.wait_until_guarded(cluster, &client_with(&token, &config)?).await?;
        io::stdout().lock().write_all(yaml::document(&endpoint.kubeconfig(cluster, &token))?.as_bytes())?;
        self.hint(&endpoint)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Each label has one value.
    fn check_labels(&self) -> Result<(), clap::Error> {
        let mut keys = BTreeSet::new();
        match self.labels.iter().map(ClusterLabel::key).find(|key| !keys.insert(*key)) {
            None => Ok(()),
            Some(key) => Err(clap::Error::raw(ErrorKind::ValueValidation, format!("--label {key} has two values\n"))),
        }
    }

    /// What comes next.
    fn hint(&self, endpoint: &Endpoint) -> io::Result<()> {
        let cluster = &self.cluster;
        let server = endpoint.server();
        let mut log = anstream::stderr().lock();
        if server.is_local() {
            writeln!(log, "warning: other clusters do not reach {server}: say with --server where they do")?;
        }
        writeln!(
            log,
            "who has what is printed writes to the registry as {cluster}: keep it secret. Where {cluster} is:\n  \
             kubectl create secret generic mcwan-registry -n {SYSTEM_NAMESPACE} \
             --from-file=kubeconfig={cluster}.kubeconfig\n  \
             helm upgrade {CONTROLLER} manifests/chart -n {SYSTEM_NAMESPACE} --reset-then-reuse-values \
             --set clusterId={cluster} --set registry.kubeconfigSecret=mcwan-registry\n\
             (where {CONTROLLER} is not installed yet: `kubectl create namespace {SYSTEM_NAMESPACE}` first, and `helm install` \
             with image and module)"
        )
    }
}
