//! The names of what mcwan writes that are the same in every namespace.

/// The Gateway that requests of an importing namespace leave through, where the filter decides.
pub const EGRESS_GATEWAY: &str = "mcwan-egress";
/// The same, where plain routes decide.
pub const NATIVE_EGRESS_GATEWAY: &str = "mcwan-egress-native";
/// The Gateway that requests enter an exporting namespace through.
pub const INGRESS_GATEWAY: &str = "mcwan-ingress";
/// The `WasmPlugin` of an importing namespace.
pub const PLUGIN: &str = "mcwan";
/// The `DestinationRule` of all tier services.
pub const TIER_RULE: &str = "mcwan-tiers";
