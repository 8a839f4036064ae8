//! From resources to imports: which exist, what they claim, what their rules do, and the targets behind
//! them. Pure; what the edges emit is made of this and nothing else.
//!
//! A front end (so far the one for `ServiceImport`) turns its resource into rules in the shape of Gateway API;
//! everything behind it is common to all front ends.

mod backend;
mod export;
mod filters;
mod import;
mod rule;
mod service_import;
mod steering_key;
mod target;

pub use export::{Exports, Source, Tier};
pub(crate) use filters::in_turn;
pub use import::Import;
pub use steering_key::{SteeringKey, SteeringKeyError};
pub use target::{Destination, Forwarding, HeaderChanges, Mirror, Target};

use std::collections::BTreeSet;

use crate::gather::Snapshot;
use crate::problem::Problem;

/// How a request names its target to the route behind the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// A route per target matches the steering header.
    #[default]
    RouteHeader,
    /// One generic route sends to the Envoy cluster that the steering header names; what would need a
    /// route of its own is refused.
    ClusterHeader,
}

/// What the translation depends on beside the resources.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of this cluster, whose own exports it does not import; none: there are no own exports.
    pub cluster: Option<String>,
    /// The key of the digests in steering values.
    pub steering_key: SteeringKey,
    /// How requests name their targets.
    pub steering: Steering,
}

/// What the resources mean.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The imports, the oldest first: of two that claim a host the earlier one has it.
    pub imports: Vec<Import>,
    /// What cannot be honoured, in the order in which it was met.
    pub problems: Vec<Problem>,
}

/// Translates a snapshot.
pub fn translate(snapshot: &Snapshot, options: &Options) -> Translation {
    let mut problems = Vec::new();
    let exports = Exports::new(snapshot, options.cluster.as_deref(), &mut problems);
    let mut imports = Vec::new();
    for service_import in &snapshot.service_imports {
        let import = service_import::front_end(service_import);
        imports.push(Import::new(import, snapshot, &exports, options, &mut problems));
    }
    let named = |import: &Import| (import.wire.namespace.clone(), import.wire.name.clone());
    let with_rules: BTreeSet<_> = imports.iter().map(named).collect();
    for (namespace, name) in exports.services() {
        if with_rules.contains(&(namespace.to_owned(), name.to_owned())) {
            continue;
        }
        let import = service_import::without_rules(namespace, name);
        imports.push(Import::new(import, snapshot, &exports, options, &mut problems));
    }
    Translation { imports, problems }
}
