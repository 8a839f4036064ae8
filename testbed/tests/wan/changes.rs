//! Rules and targets change under load, and nothing is lost.

use anyhow::Result;
use mcwan_testbed::wan::{Plan, TestWan, WanClient};

use crate::audit::{Audit, FULL, MODERATE};
use crate::moves::{EVERY_MOVE, SWAP, a_namespace_is_made_again, ports_of_tiers_change};
use crate::scene::{apply_import, apply_payment, until_payment_answers, whole_machine};

/// How often the rules change: each of their kinds comes once, and the first again.
const FEW: usize = 6;

/// The same, where there is time.
const MANY: usize = 50;

#[tokio::test]
async fn nothing_is_lost_while_rules_and_targets_change() -> Result<()> {
    let _turn = whole_machine().await;
    let (wan, client) = start().await?;
    let mut audit = Audit::start(&wan, &client, MODERATE).await?;
    rules_and_targets_change(&wan, &mut audit, FEW).await?;
    judge(&wan, audit).await?;
    ports_of_tiers_change(&wan, &client, &SWAP).await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn nothing_is_lost_while_rules_and_targets_change_often() -> Result<()> {
    let _turn = whole_machine().await;
    let (wan, client) = start().await?;
    let mut audit = Audit::start(&wan, &client, FULL).await?;
    rules_and_targets_change(&wan, &mut audit, MANY).await?;
    rules_that_never_rest_come_in_force(&wan, &mut audit).await?;
    judge(&wan, audit).await?;
    ports_of_tiers_change(&wan, &client, &EVERY_MOVE).await?;
    a_namespace_is_made_again(&wan, &client).await
}

async fn start() -> Result<(TestWan, WanClient)> {
    let wan = TestWan::start(Plan::default()).await?;
    apply_payment(&wan).await?;
    let client = wan.client(2).await?;
    until_payment_answers(&wan, &client).await?;
    Ok((wan, client))
}

async fn rules_and_targets_change(wan: &TestWan, audit: &mut Audit, changes: usize) -> Result<()> {
    for change in 1..=changes {
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

/// Every answer was right. At the end the rules are those of the payment example again.
async fn judge(wan: &TestWan, audit: Audit) -> Result<()> {
    let verdict = audit.finish(wan).await?;
    verdict.report();
    verdict.ensure_nothing_is_wrong()?;
    apply_import(wan).await
}
