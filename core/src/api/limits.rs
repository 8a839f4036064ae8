//! The bounds of what one cluster tells the others. Every cluster reads all of it, and makes objects of it: what a member
//! of the registry says must not take more than the others have.

/// Ports of an export: each is a listener of the importing namespace's Gateway, which has so many (Gateway API,
/// `GatewaySpec`).
pub const PORTS: usize = 64;
