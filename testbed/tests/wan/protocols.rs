//! What is spoken across the WAN: gRPC, WebSocket, HTTP/2, long bodies, connections that are kept alive.

mod body;
mod grpc;
mod hosts;
pub(crate) mod services;
mod websocket;

use anyhow::Result;

use crate::scene::Scene;

/// Everything crosses by its tier.
pub(crate) async fn what_is_spoken_crosses_the_wan(scene: &Scene) -> Result<()> {
    services::set_up(scene).await?;
    grpc::unary_calls_take_their_tiers(scene).await?;
    grpc::what_a_call_cannot_have_is_unavailable(scene).await?;
    grpc::a_stream_of_answers_crosses(scene).await?;
    grpc::streams_both_ways_take_turns(scene).await?;
    grpc::calls_that_no_rule_matches_are_refused(scene).await?;
    hosts::a_service_has_two_ports(scene).await?;
    hosts::one_connection_serves_many_hosts(scene).await?;
    hosts::http_2_serves_many_hosts_at_a_time(scene).await?;
    websocket::a_connection_is_upgraded(scene).await?;
    websocket::an_upgrade_that_no_rule_matches_is_refused(scene).await?;
    body::long_bodies_cross_both_ways(scene).await?;
    body::long_bodies_cross_both_ways_by_http_2(scene).await
}
