//! From resources to imports: which exist, what they claim, what their rules do, and the targets behind
//! them. Pure; what the edges emit is made of this and nothing else.
//!
//! A front end (`front_end`) turns its resource into rules in one form;
//! everything behind it is common to all front ends.

mod admissions;
mod admitted;
mod backend;
mod choice;
mod clusterset;
mod export;
mod families;
mod filters;
mod front_end;
pub mod gateway_pods;
mod import;
mod local_export;
mod merge;
mod origin;
mod pairs;
mod ports;
mod refusal;
mod route_hosts;
mod rule;
mod sharing;
mod steering_key;
mod target;
mod tier_service;
mod translator;
mod trust;
mod withdrawal;

use admissions::pods_digest;
pub use admissions::{Admissions, gateways_digest};
pub use admitted::Admitted;
pub use clusterset::{Clusterset, DirectPort, clusterset_service};
pub use export::{Exports, Source, Tier};
pub use families::Families;
pub(crate) use filters::in_turn;
pub use front_end::{Admission, Attachment, FrontEnds, FrontEndsError, RouteOptions};
pub use import::Import;
pub use local_export::LocalExport;
pub use merge::{Conflict, Declared, Merged, Precedence, merge};
pub use origin::Origin;
use route_hosts::RouteHosts;
pub(crate) use sharing::{MOST_WEIGHT, is_usable};
pub use steering_key::{SteeringKey, SteeringKeyError};
pub(crate) use target::hashed;
pub use target::{Destination, Forwarding, HeaderChanges, Mirror, Target};
pub(crate) use tier_service::{RULE_BACKENDS, source_service};
pub use translator::{Affected, Callers, Translator};
pub use trust::{NamespaceList, NamespacePattern, NamespacePatternError, NamespaceRule, Trust};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::Resource;

use crate::api::McsVersion;
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::snapshot::change::Change;

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
    /// The name of this cluster, whose exports it serves itself; none: there are no own exports.
    pub cluster: Option<String>,
    /// The key of the digests in steering values.
    pub steering_key: SteeringKey,
    /// How requests name their targets.
    pub steering: Steering,
    /// The version of the Multi-Cluster Services API that this cluster serves.
    pub mcs_version: McsVersion,
    /// What it takes from the others.
    pub trust: Trust,
    /// Which kinds give rules beside `ServiceImport`.
    pub front_ends: FrontEnds,
    /// What holds for all `Route`s of `OpenShift`.
    pub routes: RouteOptions,
    /// The cable drivers that this cluster supports; none: as the registry has it.
    pub cable_drivers: Option<Vec<String>>,
}

/// What the resources mean.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The imports, the oldest first: of two that claim a host the earlier one has it.
    pub imports: Vec<Import>,
    /// What cannot be honoured.
    pub problems: Vec<Problem>,
}

/// Translates a snapshot.
pub fn translate(snapshot: &Snapshot, options: &Options) -> Translation {
    let mut translator = Translator::new(options.clone());
    translator.update(snapshot, &[Change::Everything]);
    let mut problems = translator.problems();
    let imports = translator.into_imports();
    problems.extend(imports.iter().flat_map(|import| &import.problems).cloned());
    Translation { imports, problems }
}

/// An object as the owner of what is made of it; none if it is not in a cluster. Deleting it need not wait for what
/// it owns.
fn owner<T: Resource>(object: &T, version: &T::DynamicType) -> Option<OwnerReference> {
    let owner = object.controller_owner_ref(version)?;
    Some(OwnerReference { block_owner_deletion: None, ..owner })
}
