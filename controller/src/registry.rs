//! The registry as who runs it sees it: an API server is prepared for it, clusters join and leave.
//!
//! A cluster that has joined is a service account of the registry's namespace. A Role says which kinds it may write, and
//! a `ValidatingAdmissionPolicy` of the API server whose objects: it compares the name of the account with the object.

mod cluster_label;
mod cluster_name;
mod deadline;
mod endpoint;
mod error;
mod guard;
mod manifest;
mod member;
mod object_name;
mod server;

pub use cluster_label::{ClusterLabel, ClusterLabelError};
pub use cluster_name::{ClusterName, ClusterNameError};
pub use endpoint::{Endpoint, EndpointError, ServerUrl, is_local};
pub use error::RegistryError;
pub use guard::client_with;
pub use manifest::{Manifest, manifests};
pub use object_name::ObjectName;
pub use server::{Applied, Server};

/// The field manager of what is written here, and its `app.kubernetes.io/managed-by` label. By that the Helm chart knows
/// what it must leave alone.
pub const MANAGER: &str = "mcwan-registry";
/// The policy, and its binding.
const POLICY: &str = "mcwan-registry";
/// What a cluster may do.
const ROLE: &str = "mcwan-cluster";
