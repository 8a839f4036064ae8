//! Rules and targets change under load, and nothing is lost.

use anyhow::Result;
use mcwan_testbed::wan::TestWan;

use crate::audit::Audit;
use crate::moves::{a_namespace_is_made_again, ports_of_tiers_change};
use crate::scene::{apply_import, apply_payment, mk_plan, turn, until_payment_answers};

/// How often the rules change.
const CHANGES: usize = 50;

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn nothing_is_lost_while_rules_and_targets_change() -> Result<()> {
    let _turn = turn().await;
    let wan = TestWan::start(mk_plan()).await?;
    apply_payment(&wan).await?;
    let client = wan.client(2).await?;
    until_payment_answers(&wan, &client).await?;
    let mut audit = Audit::start(&wan, &client).await?;
    rules_and_targets_change(&wan, &mut audit).await?;
    rules_that_never_rest_come_in_force(&wan, &mut audit).await?;
    let verdict = audit.finish().await?;
    verdict.report();
    verdict.ensure_nothing_is_wrong()?;
    apply_import(&wan).await?;
    ports_of_tiers_change(&wan, &client).await?;
    a_namespace_is_made_again(&wan, &client).await
}

async fn rules_and_targets_change(wan: &TestWan, audit: &mut Audit) -> Result<()> {
    for change in 1..=CHANGES {
        audit.change().await?;
        // Some changes come while the one before is still on its way.
        if change % 4 != 0 {
            audit.until_newest_rules_hold(wan).await?;
        }
    }
    audit.until_newest_rules_hold(wan).await
}

async fn rules_that_never_rest_come_in_force(wan: &TestWan, audit: &mut Audit) -> Result<()> {
    let changes = audit.change_until_some_hold(wan).await?;
    eprintln!("measured: rules hold that others follow at once, after {changes} changes");
    audit.until_newest_rules_hold(wan).await
}
