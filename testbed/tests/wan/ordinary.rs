//! An ordinary day, on which nobody changes or attacks anything, and nobody is killed before the end.

use anyhow::Result;

use crate::clusterset::a_service_of_both_clusters;
use crate::consumers::a_consumer_is_admitted_and_refused;
use crate::hosts::hosts_that_users_choose;
use crate::observability::operators_see_what_happens;
use crate::protocols::what_is_spoken_crosses_the_wan;
use crate::quality::rules_go_by_measured_quality;
use crate::scene::Scene;

#[tokio::test]
async fn what_is_spoken_crosses_the_wan_and_operators_see_it() -> Result<()> {
    let mut scene = Scene::start().await?;
    Box::pin(what_is_spoken_crosses_the_wan(&scene)).await?;
    Box::pin(a_consumer_is_admitted_and_refused(&scene)).await?;
    Box::pin(hosts_that_users_choose(&scene)).await?;
    Box::pin(operators_see_what_happens(&scene)).await?;
    Box::pin(a_service_of_both_clusters(&scene)).await?;
    Box::pin(rules_go_by_measured_quality(&mut scene)).await
}
