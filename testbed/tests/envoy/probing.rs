//! What a real Envoy with several workers probes, and shows of it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mcwan::gateways::GatewayReader;
use mcwan_core::rollout::{GatewayPod, GatewayReport};
use mcwan_policy::sla::Judgement;
use mcwan_policy::wire;
use mcwan_testbed::echo::Echo;
use mcwan_testbed::envoy::Envoy;
use mcwan_testbed::loopback::Loopback;
use mcwan_testbed::tools;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_mins(1);
const WORKERS: u32 = 4;

const INTERVAL: Duration = Duration::from_millis(200);
/// So many probes show at which rate they come; of those that come about then, so many may be of another one's beginning.
const PROBES: u64 = 25;
const MORE: u64 = 3;

const LISTENER: u16 = 8080;
const FAR: u16 = 31_111;
/// An Envoy cluster that leads to the far gateway, and one of which no pod is known.
const CLUSTER: &str = "far";
const EMPTY: &str = "empty";

/// An Envoy whose listener can be replaced, with a far gateway that answers probes.
struct Proxy {
    envoy: Envoy,
    far: Echo,
    address: Ipv4Addr,
    folder: TempDir,
    _loopback: Loopback,
}

impl Proxy {
    async fn start() -> Result<Self> {
        let (loopback, folder) = (Loopback::take()?, TempDir::new()?);
        let address = loopback.address();
        let far = Echo::start(SocketAddr::from((address, FAR))).await?;
        replace_listener(folder.path(), &mk_listener(address, 1, &tools::module()?))?;
        let endpoint = json!({"address": {"socket_address": {"address": address, "port_value": FAR}}});
        let config = json!({
            "dynamic_resources": {"lds_config": {"path_config_source": {"path": listeners(folder.path())}}},
            "static_resources": {"clusters": [
                {"name": CLUSTER, "connect_timeout": "1s", "load_assignment": {
                    "cluster_name": CLUSTER, "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}]}},
                {"name": EMPTY, "connect_timeout": "1s", "load_assignment": {"cluster_name": EMPTY, "endpoints": []}},
            ]},
        });
        let envoy = Envoy::start_with(&config, address, WORKERS).await?;
        Ok(Self { envoy, far, address, folder, _loopback: loopback })
    }

    /// What the controller reads of it.
    async fn report(&self) -> Result<GatewayReport> {
        let address = self.address.into();
        let pod = GatewayPod { namespace: "secure".into(), name: "mcwan-egress-0".into(), address, is_ready: true };
        let reports = GatewayReader::new(self.envoy.admin().port())?.read(vec![pod]).await;
        Ok(reports.into_iter().find_map(|(_, report)| report).unwrap_or_default())
    }

    /// Where paths stand, by the far cluster.
    async fn standings(&self) -> Result<Vec<(String, Judgement)>> {
        let paths = self.report().await?.paths.into_iter();
        Ok(paths.map(|(path, shown)| (path.cluster.to_string(), shown.judgement)).collect())
    }

    /// Waits until a configuration is in force, and checks that probes come from one of all workers and listeners: more often
    /// than at the interval they cannot come, however slow this machine is.
    async fn one_probes(&self, revision: u64, when: &str) -> Result<()> {
        let is_in_force = async || Ok(self.report().await?.revision == Some(revision));
        until(DEADLINE, &format!("it is in force: {when}"), is_in_force).await?;
        let (before, start) = (self.far.arrivals(), Instant::now());
        until(DEADLINE, &format!("it is probed: {when}"), async || Ok(self.far.arrivals() >= before + PROBES)).await?;
        let came = self.far.arrivals() - before;
        let due = u64::try_from(start.elapsed().as_millis() / INTERVAL.as_millis())?;
        ensure!(came <= due + MORE, "{when}: {came} probes, and {due} intervals");
        Ok(())
    }
}

fn listeners(folder: &Path) -> PathBuf {
    folder.join("listeners.json")
}

/// Envoy looks at what is moved to that place.
fn replace_listener(folder: &Path, listener: &Value) -> Result<()> {
    let new = folder.join("new.json");
    fs::write(&new, json!({"resources": [listener]}).to_string())?;
    Ok(fs::rename(new, listeners(folder))?)
}

/// A listener whose filter measures two paths by a configuration of that revision.
fn mk_listener(address: Ipv4Addr, revision: u64, module: &Path) -> Value {
    let path = |cluster: &str, envoy_cluster: &str| {
        json!({"tier": "sd-wan-priority-high", "cluster": cluster, "namespace": "secure", "latencyMs": 500,
            "intervalMs": INTERVAL.as_millis(), "envoyCluster": envoy_cluster})
    };
    let paths = [path("cluster-1", CLUSTER), path("cluster-2", EMPTY)];
    let config = json!({"version": wire::VERSION, "revision": revision, "paths": paths, "imports": []});
    let filter = json!({"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm", "config": {
        "name": "mcwan",
        "vm_config": {"vm_id": "mcwan", "runtime": "envoy.wasm.runtime.v8", "code": {"local": {"filename": module}}},
        "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config.to_string()},
    }});
    let router = json!({"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"});
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "egress",
        "route_config": {"name": "none"},
        "http_filters": [{"name": "mcwan", "typed_config": filter}, {"name": "router", "typed_config": router}],
    });
    json!({
        "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
        "name": "egress",
        "address": {"socket_address": {"address": address, "port_value": LISTENER}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    })
}

#[tokio::test]
async fn one_of_all_workers_probes_while_configuration_and_module_change_and_listeners_drain() -> Result<()> {
    let proxy = Proxy::start().await?;
    proxy.one_probes(1, "it begins").await?;
    let expected = [("cluster-1".to_owned(), Judgement::InSla), ("cluster-2".to_owned(), Judgement::NoAnswer)];
    let are_judged = async || Ok(proxy.standings().await? == expected);
    until(DEADLINE, "who answers is told from a cluster without a pod", are_judged).await?;
    let report = proxy.report().await?;
    let [(path, shown), _] = report.paths.as_slice() else { anyhow::bail!("{:?}", report.paths) };
    ensure!((&*path.tier, shown.http_status) == ("sd-wan-priority-high", Some(200)), "{path:?}: {shown:?}");

    let module = tools::module()?;
    replace_listener(proxy.folder.path(), &mk_listener(proxy.address, 2, &module))?;
    proxy.one_probes(2, "the old listener drains").await?;

    // The same with a section that says nothing: another module, in VMs of its own.
    let other = proxy.folder.path().join("other.wasm");
    fs::write(&other, [&fs::read(module)?[..], b"\0\x06\x05other"].concat())?;
    replace_listener(proxy.folder.path(), &mk_listener(proxy.address, 3, &other))?;
    proxy.one_probes(3, "the old module drains").await?;
    let standings = proxy.standings().await?;
    ensure!(standings == expected, "{standings:?}");
    Ok(())
}
