//! What a real Envoy says of the configuration in force, read as the controller reads it.

use std::time::Duration;

use anyhow::{Context, Result};
use mcwan::gateways::{GatewayPod, GatewayReader, Progress};
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
    let pod = GatewayPod {
        namespace: "secure".into(),
        gateway: "mcwan-egress".into(),
        name: "mcwan-egress-0".into(),
        address: admin.ip(),
    };
    let reader = GatewayReader::new(admin.port())?;
    until(DEADLINE, "the config is in force", async || {
        Ok(Progress::of(revision, &reader.read(std::slice::from_ref(&pod)).await).is_everywhere())
    })
    .await
}
