//! The bounds of what the registry holds. Every cluster reads all of it, and makes objects of it: what a member of the
//! registry says must not take more than the others have.

use mcwan_policy::limits;

/// Ports of an export: each is a listener of the importing namespace's Gateway, which has so many (Gateway API,
/// `GatewaySpec`).
pub const PORTS: usize = 64;
/// Addresses of the pods of one gateway, two for each where there are both families. They stand in one `EndpointSlice`,
/// which holds at most 1,000, and in one rule of an `AuthorizationPolicy`.
pub const ADDRESSES: usize = 256;
/// Pods of one `ExportedEndpoints`: as many as an `EndpointSlice` has (Kubernetes, `EndpointSlice`).
pub const ENDPOINTS: usize = 1_000;
/// Importing namespaces of a cluster. With two addresses each they take a tenth of what the API server takes as one object.
pub const NAMESPACES: usize = 1_000;
/// Tiers, as many as a cluster can have.
pub const TIERS: usize = limits::TIERS;
/// Clusters that a cluster tells of: twice as many as the registry's quota lets in.
pub const CLUSTERS: usize = 1_000;
/// Cable drivers that a cluster supports.
pub const CABLE_DRIVERS: usize = 16;
/// Characters of the digest of what a cluster says.
pub const DIGEST: usize = 64;
/// Policies of which tiers pairs of clusters may use: every cluster compares each with all others.
pub const CONNECTION_POLICIES: usize = 256;
/// Tiers that a rule may fall back to.
pub const FALLBACKS: usize = limits::CANDIDATES - 1;
/// Labels and expressions of one of their selectors.
pub const REQUIREMENTS: usize = 16;
/// Values of an expression.
pub const VALUES: usize = 64;
/// Characters of a port's name, and of the name of its protocol (Kubernetes, `ServicePort`: a label, perhaps qualified).
pub const PORT_NAME: usize = limits::LABEL_BYTES;
/// See [`PORT_NAME`].
pub const APP_PROTOCOL: usize = limits::HOST_BYTES + 1 + limits::LABEL_BYTES;
/// Conditions of a status: there are a few of ours, and room for others'.
pub const CONDITIONS: usize = 32;
/// Labels, and annotations, that go with an exported Service.
pub const EXPORTED_KEYS: usize = 64;
/// Bytes of their keys and values together, of labels and of annotations: a sixteenth of what Kubernetes takes of one object's
/// annotations.
pub const EXPORTED_BYTES: usize = 16 * 1024;
