//! The bounds of a configuration. What is over a bound is refused, never truncated.

use std::ops::RangeInclusive;

/// Bytes of a configuration that the module reads.
pub const CONFIG_BYTES: usize = 8 << 20;
/// Bytes of a configuration that fits a `WasmPlugin` (etcd refuses objects over 1.5 MB).
pub const WASM_PLUGIN_CONFIG_BYTES: usize = 1 << 20;
/// Imports of a configuration.
pub const IMPORTS: usize = 20_000;
/// Rules of a configuration.
pub const RULES: usize = 40_000;
/// Regular expressions of a configuration, equal ones counted once.
pub const PATTERNS: usize = 4_096;
/// Revisions of a configuration: below the 2^53 up to which a protobuf `Struct` keeps whole numbers.
pub const REVISIONS: u64 = 1 << 48;
/// Paths over the WAN that are measured for a configuration.
pub const PATHS: usize = 256;
/// Milliseconds from one probe of a path to the next.
pub const PROBE_INTERVAL_MS: RangeInclusive<u32> = 200..=10_000;
/// WAN tiers.
pub const TIERS: usize = 16;

/// Bytes of the name of a target, and of its digest.
pub const TARGET_BYTES: usize = 512;
/// Rules of one import.
pub const IMPORT_RULES: usize = 10_000;
/// Hostnames of one import beside the ones that follow from its name, as users write them.
pub const IMPORT_HOSTNAMES: usize = 64;
/// The same with those of the Service that clients of another namespace call.
pub const WIRE_HOSTNAMES: usize = IMPORT_HOSTNAMES + 4;
/// Ports of one rule: as many as a Gateway has listeners (Gateway API, `GatewaySpec.listeners`).
pub const RULE_PORTS: usize = 64;
/// Matches of one rule.
pub const RULE_MATCHES: usize = 64;
/// Actions of one rule, as many as an `HTTPRoute` rule has backendRefs.
pub const RULE_ACTIONS: usize = 16;
/// Candidates of one choice: the backend's own tier and its fallbacks.
pub const CANDIDATES: usize = 9;
/// Sources of one candidate.
pub const CANDIDATE_SOURCES: usize = 16;
/// Header matches of one match.
pub const MATCH_HEADERS: usize = 16;
/// Query parameter matches of one match.
pub const MATCH_QUERY_PARAMS: usize = 16;

/// Headers that a modifier sets, adds or removes, of each at most so many (Gateway API, `HTTPHeaderFilter`).
pub const MODIFIER_HEADERS: usize = 16;

/// Bytes of one regular expression.
pub const PATTERN_BYTES: usize = 1_024;
/// Bytes that one compiled regular expression may take; also a bound on the time that it needs for a byte.
/// What is over it does not compile.
pub const PATTERN_COMPILED_BYTES: usize = 256 << 10;
/// Bytes that the regular expressions of a configuration may take together, once compiled, each counted by the next power of
/// two from 8 KiB on: so much of a gateway's memory, and of the controller's, which compiles them to see what is wrong with
/// them.
pub const PATTERNS_COMPILED_BYTES: usize = 32 << 20;
/// Bytes of a path in a match, a rewrite or a redirect.
pub const PATH_BYTES: usize = 1_024;
/// Bytes of the name of a header or query parameter (Gateway API, `HTTPHeaderName`).
pub const NAME_BYTES: usize = 256;
/// Bytes of an exact value of a header or query parameter (Gateway API, `HTTPHeaderMatch`).
pub const VALUE_BYTES: usize = 4_096;
/// Bytes of a host name (RFC 1123).
pub const HOST_BYTES: usize = 253;
/// Bytes of a DNS label (RFC 1123).
pub const LABEL_BYTES: usize = 63;
