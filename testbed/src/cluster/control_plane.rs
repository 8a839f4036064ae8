//! etcd, the API server and the controller manager, as they are started for a test.

use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use super::START;
use crate::child::{Process, log_into, mortal};
use crate::namespace::Namespace;
use crate::network::Network;
use crate::tools;

/// The port of the API server.
pub(crate) const PORT: u16 = 6443;

/// The name in the API server's certificate that kubeconfigs ask for: its addresses differ from
/// cluster to cluster.
pub(super) const TLS_NAME: &str = "kubernetes";

/// Where etcd listens, for its clients and for its peers; every namespace has these for itself.
const ETCD: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 2379);
const ETCD_PEERS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 2380);

/// The addresses of Services, which are none of [`EVERYTHING`](crate::network::EVERYTHING).
const SERVICES: &str = "10.112.0.0/16";

/// The controllers that collect by owner, empty namespaces, publish the certificate authority, give
/// Services their `EndpointSlice`s and Deployments their Pods.
const CONTROLLERS: &str = "deployment-controller,endpointslice-controller,garbage-collector-controller,\
    namespace-controller,replicaset-controller,root-ca-certificate-publisher-controller,\
    serviceaccount-controller,serviceaccount-token-controller,statefulset-controller";

/// How Go's collector of garbage is tuned: by default, it takes a third of an API server's time that is worked hard. Here
/// cores are few and memory is not.
const COLLECTOR: (&str, &str) = ("GOGC", "400");

/// The files of a control plane, in one folder.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What etcd keeps, in a folder.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    /// Copies what an etcd kept that has ended, for this one to start with.
    pub(super) async fn take_data(&self, data: &Path) -> Result<()> {
        let copied =
            Command::new("cp").arg("-r").arg(data).arg(self.data()).status().await.context("cannot start `cp`")?;
        ensure!(copied.success(), "cannot copy {}", data.display());
        Ok(())
    }

    /// The API server's certificate and the authority that signed it. The API server makes it.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.join("certificates/apiserver.crt")
    }

    /// The key of that certificate. It signs the tokens of service accounts as well.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.join("certificates/apiserver.key")
    }

    /// Who may log in by a token, as `TOKEN,USER,ID,"GROUPS"`.
    pub(super) fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    /// The kubeconfig of a user.
    pub(super) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder.join(format!("{user}.kubeconfig"))
    }

    /// Where kubectl keeps what it learns about the server.
    pub(super) fn kubectl_cache(&self) -> PathBuf {
        self.folder.join("kubectl")
    }

    /// What a program logs.
    pub(super) fn log(&self, program: &str) -> PathBuf {
        self.folder.join(format!("{program}.log"))
    }
}

/// Starts etcd and waits until it listens.
pub(super) async fn etcd(namespace: &Namespace, files: &Files) -> Result<Process> {
    let arguments = [
        format!("--data-dir={}", files.data().display()),
        format!("--listen-client-urls=http://{ETCD}"),
        format!("--advertise-client-urls=http://{ETCD}"),
        format!("--listen-peer-urls=http://{ETCD_PEERS}"),
        format!("--initial-advertise-peer-urls=http://{ETCD_PEERS}"),
        format!("--initial-cluster=default=http://{ETCD_PEERS}"),
        "--unsafe-no-fsync".to_owned(),
    ];
    let mut etcd = start(namespace, files, "etcd", &arguments).await?;
    let listens = async || Ok(namespace.run(|| TcpStream::connect(ETCD)).await?.is_ok());
    etcd.until(START, "etcd listens", listens).await?;
    Ok(etcd)
}

/// Starts the API server, which listens on all addresses of its namespace.
pub(super) async fn api_server(namespace: &Namespace, files: &Files, network: Network) -> Result<Process> {
    let key = files.key();
    let arguments = [
        format!("--etcd-servers=http://{ETCD}"),
        "--bind-address=0.0.0.0".to_owned(),
        format!("--secure-port={PORT}"),
        format!("--advertise-address={}", network.control_plane()),
        format!("--cert-dir={}", files.folder.join("certificates").display()),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-cluster-ip-range={SERVICES}"),
        "--endpoint-reconciler-type=none".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        format!("--token-auth-file={}", files.tokens().display()),
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
    ];
    start(namespace, files, "kube-apiserver", &arguments).await
}

/// Starts the controller manager.
pub(super) async fn controller_manager(namespace: &Namespace, files: &Files, kubeconfig: &Path) -> Result<Process> {
    let arguments = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={CONTROLLERS}"),
        format!("--service-account-private-key-file={}", files.key().display()),
        format!("--root-ca-file={}", files.certificate().display()),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    start(namespace, files, "kube-controller-manager", &arguments).await
}

async fn start(namespace: &Namespace, files: &Files, name: &str, arguments: &[String]) -> Result<Process> {
    let log = files.log(name);
    let mut command = mortal(tools::program(name)?);
    command.args(arguments).env(COLLECTOR.0, COLLECTOR.1);
    log_into(&mut command, &log)?;
    let child = namespace.spawn(command).await?;
    Ok(Process::new(name, child, log))
}
