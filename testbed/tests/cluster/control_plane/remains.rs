//! What there is of a cluster, as the system sees it.

use std::fs;
use std::path::{Path, PathBuf};

use mcwan_testbed::cluster::TestCluster;

/// Where to look for what a cluster may leave behind.
pub(crate) struct Remains {
    folder: PathBuf,
    namespace: Option<PathBuf>,
}

impl Remains {
    /// Of a cluster, its network namespace included.
    pub(crate) async fn of(cluster: &TestCluster) -> Self {
        let namespace = cluster.namespace().run(|| fs::read_link("/proc/thread-self/ns/net")).await.unwrap().unwrap();
        Self { namespace: Some(namespace), ..Self::of_kubeconfig(&cluster.admin_kubeconfig()) }
    }

    /// Of the cluster that a kubeconfig is for, as far as it can be told from that.
    pub(crate) fn of_kubeconfig(kubeconfig: &Path) -> Self {
        Self { folder: kubeconfig.parent().unwrap().to_owned(), namespace: None }
    }

    /// The folder and the processes that use it or live in the namespace, as far as they are there.
    pub(crate) fn all(&self) -> Vec<String> {
        let folder = self.folder.exists().then(|| self.folder.display().to_string());
        folder.into_iter().chain(self.processes()).collect()
    }

    fn processes(&self) -> impl Iterator<Item = String> {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let process = entry.unwrap().path();
            let command = fs::read(process.join("cmdline")).ok()?; // it may end while we look
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let uses_folder = command.contains(self.folder.to_str().unwrap());
            (uses_folder || self.has_namespace(&process)).then_some(command)
        });
        processes.collect::<Vec<_>>().into_iter()
    }

    /// Whether one of the process's threads lives in the namespace.
    fn has_namespace(&self, process: &Path) -> bool {
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let mut namespaces = threads.filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok());
        self.namespace.is_some() && namespaces.any(|namespace| Some(namespace) == self.namespace)
    }
}
