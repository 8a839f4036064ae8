//! What a real Envoy says of the configuration in force, read as the controller reads it.

use std::time::Duration;

use anyhow::{Context, Result};
use mcwan::gateways::GatewayReader;
use mcwan_core::rollout::GatewayPod;
use mcwan_testbed::example::Example;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;
use mcwan_testbed::wait::until;

const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_gateway_says_which_config_it_has() -> Result<()> {
    let setup = Setup::of_example(&Example::load("payment")?, Mode::RouteHeader)?;
    let revision = setup.plugin.table.revision().context("a revision")?;
    let testbed = setup.start().await?;
    // An istio-agent passes on what Envoy itself says at this path.
    let admin = testbed.envoy().admin();
    let pod =
        GatewayPod { namespace: "secure".into(), name: "mcwan-egress-0".into(), address: admin.ip(), is_ready: true };
    let reader = GatewayReader::new(admin.port())?;
    until(DEADLINE, "the config is in force", async || {
        let reports = reader.read(vec![pod.clone()]).await;
        Ok(reports.iter().all(|(_, report)| report.as_ref().is_some_and(|report| report.revision == Some(revision))))
    })
    .await
}
