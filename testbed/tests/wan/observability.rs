//! What operators see of requests, and of what we emit: with what our manifests ask of Istio, and nothing by hand.

mod access_log;
mod imports;
mod scrape;

use anyhow::Result;

use crate::analyze;
use crate::scene::Scene;

/// Counters, logs, and nothing that Istio complains about.
pub(crate) async fn operators_see_what_happens(scene: &Scene) -> Result<()> {
    imports::set_up(scene).await?;
    analyze::all_is_well(&scene.wan).await?;
    Box::pin(scrape::the_counters_of_the_filter_reach_a_prometheus(scene)).await?;
    access_log::requests_are_logged_with_their_targets(scene).await?;
    access_log::refusals_are_logged_with_their_reasons(scene).await?;
    access_log::a_native_gateway_logs_too(scene).await
}
