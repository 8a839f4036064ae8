//! Rules hold: what the examples say, and against whoever does not keep to them.

use anyhow::{Result, bail};
use mcwan_testbed::wan::play::Play;
use mcwan_testbed::wan::{Plan, TestWan};

use crate::analyze;
use crate::bypass;
use crate::examples::plays;
use crate::module;
use crate::scene::half_machine;
use crate::steering;

/// The filter's object, and that of its other kind.
const FILTER: &str = "wasmplugin/mcwan";
const OTHER_FILTER: &str = "trafficextension/mcwan";

#[tokio::test]
async fn every_request_takes_the_tier_that_the_rules_give() -> Result<()> {
    let _turn = half_machine().await;
    let mut wan = TestWan::start(Plan::default().arguments(&["--lease-seconds", "5"])).await?;
    for example in ["canary", "split", "rewrite", "routes"] {
        plays(&wan, example).await?;
        analyze::all_is_well(&wan).await?;
    }
    // Beside the rules that come, it would be told that these hold.
    wan.cluster(2).kubectl(&["delete", "httproute", "payment", "-n", "secure"]).await?;
    let play = plays(&wan, "payment").await?;
    steering::no_client_steers(&wan, &play).await?;
    bypass::a_pod_cannot_go_past_its_egress_gateway(&wan, &play).await?;
    bypass::the_egress_gateway_of_another_namespace_is_refused(&wan).await?;
    bypass::a_replaced_egress_pod_is_admitted_and_the_old_one_is_not(&wan, &play).await?;
    a_filter_is_missing(&mut wan, &play, FILTER).await?;
    steering::a_filter_of_the_other_kind_does_the_same(&mut wan, &play).await?;
    let play = plays(&wan, "payment").await?;
    analyze::all_is_well(&wan).await?;
    steering::no_client_steers(&wan, &play).await?;
    a_filter_is_missing(&mut wan, &play, OTHER_FILTER).await
}

/// It is deleted, or loading, or gone for good.
async fn a_filter_is_missing(wan: &mut TestWan, play: &Play, filter: &str) -> Result<()> {
    steering::a_deleted_filter_comes_back(wan, play, filter).await?;
    steering::a_filter_that_is_loading_lets_nothing_through(wan, play).await?;
    steering::without_a_filter_everything_is_refused(wan, play, filter).await
}

#[tokio::test]
async fn a_gateway_without_its_module_refuses_and_heals() -> Result<()> {
    let _turn = half_machine().await;
    let mut wan = TestWan::start(Plan::default().arguments(&["--lease-seconds", "5"])).await?;
    let play = module::with_the_oci_registry_down_nothing_passes(&mut wan).await?;
    module::a_new_pod_without_the_oci_registry_refuses(&mut wan, &play).await?;
    let unsound = module::unsound_modules(&mut wan).await?;
    module::an_unsound_module_replaces_nothing(&mut wan, &play, &unsound).await?;
    let [first, ..] = &*unsound else { bail!("no unsound module") };
    module::with_an_unsound_module_at_first_nothing_passes(&mut wan, &play, first).await?;
    module::a_digest_that_comes_late_heals(&mut wan, &play).await
}
