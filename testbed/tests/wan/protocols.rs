//! What is spoken across the WAN: gRPC, WebSocket, HTTP/2, long bodies, connections that are kept alive.

mod body;
mod grpc;
mod hosts;
mod stage;
mod websocket;

use anyhow::Result;

use crate::scene::Scene;
use stage::Stage;

/// Everything crosses by its tier.
pub(crate) async fn what_is_spoken_crosses_the_wan(scene: &Scene) -> Result<()> {
    let stage = Stage::set_up(scene).await?;
    grpc::unary_calls_take_their_tiers(&stage).await?;
    grpc::a_stream_of_answers_crosses(&stage).await?;
    grpc::streams_both_ways_take_turns(&stage).await?;
    grpc::calls_that_no_rule_matches_are_refused(&stage).await?;
    hosts::a_service_has_two_ports(&stage).await?;
    hosts::one_connection_serves_many_hosts(&stage).await?;
    hosts::http_2_serves_many_hosts_at_a_time(&stage).await?;
    websocket::a_connection_is_upgraded(&stage).await?;
    websocket::an_upgrade_that_no_rule_matches_is_refused(&stage).await?;
    body::long_bodies_cross_both_ways(&stage).await?;
    body::long_bodies_cross_both_ways_by_http_2(&stage).await
}
