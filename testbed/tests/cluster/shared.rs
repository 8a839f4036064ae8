//! A cluster for whoever needs no more of it than objects of names of its own.

use std::sync::LazyLock;

use anyhow::Result;
use mcwan_testbed::cluster::TestCluster;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;

/// Connections to the cluster belong to the runtime that made them, and that of a test would end with the test.
static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build());

static CLUSTER: OnceCell<TestCluster> = OnceCell::const_new();

/// Runs a test on the cluster that such tests share: it serves everything, and runs until this program ends.
pub(crate) fn on_shared_cluster(test: impl AsyncFnOnce(&'static TestCluster) -> Result<()>) -> Result<()> {
    let runtime = RUNTIME.as_ref()?;
    runtime.block_on(async { test(CLUSTER.get_or_try_init(TestCluster::start).await?).await })
}
