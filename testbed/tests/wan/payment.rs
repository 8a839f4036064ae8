//! The payment example: on the wire, every request takes its tier's port and no other.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::wan::{TestWan, WanClient};

use crate::scene::{HIGH, LOW, apply_payment, mk_plan, mk_request, turn};

#[tokio::test]
async fn every_request_takes_its_tier() -> Result<()> {
    let _turn = turn().await;
    let wan = TestWan::start(mk_plan()).await?;
    apply_payment(&wan).await?;
    let client = wan.client(2).await?;
    let gateway = async || {
        let Some(gateway) = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?.pop() else {
            return Ok(false);
        };
        let answer = client.send(gateway, &mk_request("GET", "payment.secure:8080", "/payment")).await;
        Ok(answer.is_ok_and(|answer| answer.status == 200))
    };
    wan.until("a request crosses", gateway).await?;
    takes(&wan, &client, "GET", "/payment/42", Some(HIGH.1)).await?;
    takes(&wan, &client, "POST", "/stats", Some(LOW.1)).await?;
    takes(&wan, &client, "POST", "/payment", None).await?;
    takes(&wan, &client, "GET", "/", None).await
}

/// Sends a request; it takes the tier of this port, or is refused.
async fn takes(wan: &TestWan, client: &WanClient, method: &str, path: &str, port: Option<u16>) -> Result<()> {
    let gateway = wan.cluster(2).service_address("secure", "payment-clusterset", 8080).await?;
    wan.record();
    let answer = client.send(gateway, &mk_request(method, "payment.secure:8080", path)).await?;
    let recording = wan.recorded();
    let used: Vec<_> = recording.speeches(2, 1).iter().map(|speech| speech.port).collect();
    let expected = if port.is_some() { 200 } else { 403 };
    ensure!(answer.status == expected, "{method} {path} answers {}", answer.status);
    ensure!(used.iter().eq(&port), "{method} {path} used {used:?}");
    if port.is_some() {
        let name = answer.echo_name().context("no echo answers")?;
        ensure!(name.starts_with("cluster-1/secure/payment-"), "{name} answers");
    }
    Ok(())
}
