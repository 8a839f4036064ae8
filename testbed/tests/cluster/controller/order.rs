//! The order in which objects arrive does not matter. The simulation tries many orders, a real cluster one.

use anyhow::{Context, Result};
use fastrand::Rng;
use mcwan_testbed::wait::until;

use super::delivery::payment;
use super::state::Emitted;
use crate::objects::id_of;
use crate::scene::{PATIENCE, Scene};

#[tokio::test]
async fn objects_mean_the_same_in_another_order() -> Result<()> {
    let seed: u64 = std::env::var("MCWAN_SEED").map_or(Ok(1), |seed| seed.parse()).context("MCWAN_SEED")?;
    let mut rng = Rng::with_seed(seed);
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.settled().await?;
    let nothing = scene.emitted().await?;
    scene.apply_payment().await?;
    scene.until_payment_delivered().await?;
    let expected = without_address(scene.emitted().await?)?;

    let mut objects = payment()?;
    rng.shuffle(&mut objects);
    for object in &objects {
        scene.delete(&id_of(object)).await?;
    }
    scene.until_emitted(&format!("nothing is left, MCWAN_SEED={seed}"), &nothing).await?;
    rng.shuffle(&mut objects);
    for object in &objects {
        scene.put(object).await?;
    }
    let what = format!("all is there, MCWAN_SEED={seed}");
    until(PATIENCE, &what, async || Ok(without_address(scene.emitted().await?)? == expected)).await?;
    scene.until_delivered("ServiceImport secure/payment").await?;
    scene.end(controller).await
}

/// The same without the address, which is the API server's to give.
fn without_address(emitted: Emitted) -> Result<Emitted> {
    let shown = emitted.get("ServiceImport.multicluster.x-k8s.io secure/payment").cloned().unwrap_or_default();
    let address = shown["spec"]["ips"][0].to_string();
    let others = emitted
        .into_iter()
        .map(|(id, object)| Ok((id, serde_json::from_str(&object.to_string().replace(&address, "null"))?)));
    others.collect()
}
