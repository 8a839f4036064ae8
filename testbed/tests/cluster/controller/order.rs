//! The order in which objects arrive does not matter.

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::Value;

use super::delivery::payment;
use crate::objects::id_of;
use crate::scene::Scene;

/// How many orders are tried.
const ORDERS: u64 = 20;

#[tokio::test]
async fn objects_mean_the_same_in_every_order() -> Result<()> {
    let seed: u64 = std::env::var("MCWAN_SEED").map_or(Ok(1), |seed| seed.parse()).context("MCWAN_SEED")?;
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.settled().await?;
    let nothing = scene.emitted().await?;
    scene.apply_payment().await?;
    scene.until_payment_delivered().await?;
    let expected = scene.emitted().await?;
    let mut objects = payment()?;

    for order in seed..seed + ORDERS {
        remove(&scene, &mut objects, order).await?;
        scene.until_emitted(&format!("nothing is left, MCWAN_SEED={order}"), &nothing).await?;
        Rng::with_seed(order).shuffle(&mut objects);
        for object in &objects {
            scene.put(object).await?;
        }
        scene.until_emitted(&format!("all is there, MCWAN_SEED={order}"), &expected).await?;
        scene.until_delivered("ServiceImport secure/payment").await?;
    }
    scene.end(controller).await
}

/// Deletes all objects, in an order of its own.
async fn remove(scene: &Scene, objects: &mut [Value], seed: u64) -> Result<()> {
    Rng::with_seed(!seed).shuffle(objects);
    for object in objects {
        scene.delete(&id_of(object)).await?;
    }
    Ok(())
}
