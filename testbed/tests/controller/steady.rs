//! What is right is left alone.

use anyhow::Result;

use crate::Scene;

#[tokio::test]
async fn the_payment_example_comes_to_rest_and_is_not_written_again() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a", &[]).await?;
    scene.apply_example("payment").await?;
    scene.until_condition("serviceimports.mc-wan.l7mp.io/payment -n secure", "Accepted=True/Accepted").await?;
    eprintln!("{}", controller.log()?);
    eprintln!("{}", scene.get("svc,endpointslices,gateways,httproutes,wasmplugins,wanclusters,exportedservices -A").await?);
    eprintln!("{}", scene.get("serviceimports.mc-wan.l7mp.io -A -o yaml").await?);
    controller.stop().await
}
