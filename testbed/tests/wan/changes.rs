//! Rules and targets change under load, and nothing is lost, also where nobody leads or translates for a while.

use anyhow::{Result, ensure};
use kube::api::DynamicObject;
use mcwan_testbed::wan::{Plan, TestWan};
use serde_json::Value;

use crate::audit::{Audit, FULL, MODERATE};
use crate::kills::{our_leader_and_istiod_are_killed, with_short_leases};
use crate::moves::{EVERY_MOVE, SWAP, a_namespace_is_made_again, ports_of_tiers_change};
use crate::scene::{apply_import, whole_machine, with_payment};

/// Who says something of a route.
const OURS: &str = "mc-wan.l7mp.io/controller";
const ISTIODS: &str = "istio.io/gateway-controller";

/// What is said of a parent that no import has the name of.
const ALONE: &str = "Accepted False NoMatchingParent";

/// How often the rules change: each of their kinds comes once, and the first again.
const FEW: usize = 6;

/// The same, where there is time.
const MANY: usize = 50;

/// For how many seconds nobody says anything new of a route.
const A_WHILE: u32 = 10;
const A_MINUTE: u32 = 60;

#[tokio::test]
async fn nothing_is_lost_while_rules_and_targets_change_and_programs_are_killed() -> Result<()> {
    let _turn = whole_machine().await;
    let (mut wan, client) = with_payment(with_short_leases()).await?;
    let mut audit = Audit::start(&wan, &client, MODERATE).await?;
    rules_and_targets_change(&wan, &mut audit, FEW).await?;
    routes_give_the_rules_and_give_them_back(&wan, &mut audit, A_WHILE).await?;
    our_leader_and_istiod_are_killed(&mut wan, &mut audit).await?;
    judge(&wan, audit).await?;
    ports_of_tiers_change(&wan, &client, &SWAP).await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn nothing_is_lost_while_rules_and_targets_change_often() -> Result<()> {
    let _turn = whole_machine().await;
    let (wan, client) = with_payment(Plan::default()).await?;
    let mut audit = Audit::start(&wan, &client, FULL).await?;
    rules_and_targets_change(&wan, &mut audit, MANY).await?;
    routes_give_the_rules_and_give_them_back(&wan, &mut audit, A_MINUTE).await?;
    rules_that_never_rest_come_in_force(&wan, &mut audit).await?;
    judge(&wan, audit).await?;
    ports_of_tiers_change(&wan, &client, &EVERY_MOVE).await?;
    a_namespace_is_made_again(&wan, &client).await
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

/// Rules pass from the `ServiceImport` to an `HTTPRoute` that istiod has something to say of, too; they change there, and
/// pass back.
async fn routes_give_the_rules_and_give_them_back(wan: &TestWan, audit: &mut Audit, seconds: u32) -> Result<()> {
    for _ in 0..2 {
        audit.change_by_route().await?;
        audit.until_newest_rules_hold(wan).await?;
    }
    let holds = ["Accepted True Accepted", "ResolvedRefs True ResolvedRefs", "Programmed True Programmed"];
    // Its other parent is a Service that nobody exports; as its rules name a tier, it is told so.
    let holds = holds.into_iter().chain([ALONE]).collect::<Vec<_>>();
    wan.until("the route is told so", async || Ok(said(&audit.route().await?, OURS) == holds)).await?;
    let before = audit.route().await?;
    ensure!(!said(&before, ISTIODS).is_empty(), "istiod says nothing of the route: {:?}", before.data);
    audit.pass(wan, seconds).await?;
    let after = audit.route().await?;
    ensure!(before.metadata.resource_version == after.metadata.resource_version, "{:?}, {:?}", before.data, after.data);
    audit.change().await?;
    audit.until_newest_rules_hold(wan).await?;
    let yields = ["Accepted False Conflicted", ALONE];
    wan.until("the route is told so", async || Ok(said(&audit.route().await?, OURS) == yields)).await?;
    ensure!(!said(&audit.route().await?, ISTIODS).is_empty(), "what istiod says is gone");
    Ok(())
}

/// What a controller says of a route: of each condition its type, status and reason.
fn said(route: &DynamicObject, controller: &str) -> Vec<String> {
    let parents = route.data["status"]["parents"].as_array().into_iter().flatten();
    let theirs = parents.filter(|parent| parent["controllerName"] == controller);
    let conditions = theirs.filter_map(|parent| parent["conditions"].as_array()).flatten();
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    conditions.map(|one| ["type", "status", "reason"].map(|field| text(one, field)).join(" ")).collect()
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
