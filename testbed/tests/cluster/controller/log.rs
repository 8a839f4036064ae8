//! What the controller logs, for programs that read it.

use anyhow::{Context, Result, ensure};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};

use crate::scene::Scene;

const LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

#[tokio::test]
async fn each_line_is_a_json_object_with_its_level_message_and_time() -> Result<()> {
    let scene = Scene::start().await?;
    let mut controller = scene.replica_with("a", &["--log-format", "json"]).await?;
    scene.apply_payment().await?;
    scene.until_delivered("ServiceImport secure/payment").await?;
    controller.ask_to_end()?;
    let status = controller.ended().await?;
    ensure!(status.success(), "the controller ended with {status}");
    let log = controller.log()?;
    ensure!(log.lines().count() > 0, "it has logged nothing");
    for line in log.lines() {
        let entry: Map<String, Value> =
            serde_json::from_str(line).with_context(|| format!("no JSON object: {line}"))?;
        let text = |field: &str| entry.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        ensure!(text("level").is_some_and(|level| LEVELS.contains(&level)), "no level: {line}");
        ensure!(text("message").is_some(), "no message: {line}");
        ensure!(text("timestamp").is_some_and(|time| time.parse::<Timestamp>().is_ok()), "no timestamp: {line}");
    }
    Ok(())
}
