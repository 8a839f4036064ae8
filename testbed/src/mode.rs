//! The ways to put rules into Envoy.

use std::fmt;

/// A way to put rules into Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The filter decides; a route per target matches the steering header.
    RouteHeader,
    /// The filter decides; one route sends to the Envoy cluster that the steering header names.
    ClusterHeader,
    /// Envoy's own routes decide.
    Native,
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RouteHeader => "wasm, route-header",
            Self::ClusterHeader => "wasm, cluster-header",
            Self::Native => "native",
        })
    }
}
