//! What a gateway is like, as far as its answers depend on it.

use clap::{Args, ValueEnum};
use mcwan_core::api::McsVersion;
use mcwan_core::snapshot::is_from_elsewhere;
use mcwan_core::translate::{FrontEnds, Import, Options, RouteOptions, Steering, SteeringKey, Trust};
use mcwan_policy::wire;

/// What a gateway is like.
#[derive(Debug, Args)]
pub(super) struct Gateway {
    /// The name of this cluster, whose own pods take their share of what it exports
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// How a request names its target to the route behind the filter
    #[arg(long, value_enum, default_value_t)]
    steering: SteeringMode,
    /// The gateway of this namespace, with what routes of the namespace say of other namespaces' imports; without it, one
    /// gateway for all imports as their own namespaces see them
    #[arg(long = "gateway", value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// How a request names its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SteeringMode {
    /// A route for each target matches a header
    #[default]
    RouteHeader,
    /// One route takes the Envoy cluster from a header; only for bare destinations
    ClusterHeader,
}

/// What happens to a request whose host belongs to no import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum UnknownHosts {
    /// It goes on unsteered
    #[default]
    Pass,
    /// It is answered with 404
    Refuse,
}

impl Gateway {
    pub(super) fn options(&self, steering_key: SteeringKey) -> Options {
        Options {
            cluster: self.cluster.clone(),
            steering_key,
            steering: self.steering(),
            mcs_version: McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        }
    }

    /// Whether it serves an import.
    pub(super) fn serves(&self, import: &Import) -> bool {
        match &self.namespace {
            Some(namespace) => **namespace == *import.key.namespace,
            None => !is_from_elsewhere(&import.key),
        }
    }

    pub(super) fn steering(&self) -> Steering {
        match self.steering {
            SteeringMode::RouteHeader => Steering::RouteHeader,
            SteeringMode::ClusterHeader => Steering::ClusterHeader,
        }
    }
}

impl From<UnknownHosts> for wire::UnknownHosts {
    fn from(hosts: UnknownHosts) -> Self {
        match hosts {
            UnknownHosts::Pass => Self::Pass,
            UnknownHosts::Refuse => Self::Refuse,
        }
    }
}
