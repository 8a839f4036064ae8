//! Rules hold: what the examples say, and against whoever does not keep to them.

use anyhow::Result;
use mcwan_testbed::wan::TestWan;

use crate::examples::plays;
use crate::scene::{mirrored, mk_plan, turn};

#[tokio::test]
async fn every_request_takes_the_tier_that_the_rules_give() -> Result<()> {
    let _turn = turn().await;
    let wan = TestWan::start(mk_plan()).await?;
    mirrored(
        &wan,
        Box::pin(async {
            for example in ["canary", "split", "rewrite", "payment"] {
                plays(&wan, example).await?;
            }
            Ok(())
        }),
    )
    .await
}
