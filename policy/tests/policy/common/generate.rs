//! Strategies for imports and for requests near them: small alphabets, so that near misses are the
//! rule (shared prefixes, trailing slashes, other case, repeated lines and parameters, hosts with a
//! port or a dot), and requests that start from what a rule of the import asks for.
//!
//! Every generated request can be sent over HTTP/1.1 as it is; every generated import is sound unless
//! the strategy says otherwise.

pub(crate) mod action;
mod request;
mod rule;

use mcwan_policy::sla::Level;
use mcwan_policy::wire::{
    Import, NoMatch, PathMatch, PluginConfig, Serves, TargetConfig, UnknownHosts, VERSION, WanPath,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

pub(crate) use self::request::request_near;

use super::Asked;

/// An import and requests near it.
#[derive(Clone, Debug)]
pub(crate) struct Neighbourhood {
    pub(crate) import: Import,
    pub(crate) requests: Vec<Asked>,
}

/// An import alone on its gateway, `secure/payment`, and requests near it.
pub(crate) fn import() -> impl Strategy<Value = Neighbourhood> {
    sound_import("secure", "payment").prop_flat_map(|import| {
        let requests = vec(request_near(std::slice::from_ref(&import)), 1..8);
        (Just(import), requests).prop_map(|(import, requests)| Neighbourhood { import, requests })
    })
}

/// Some imports on one gateway, which may claim each other's hosts and may be broken, and requests
/// near them.
pub(crate) fn config() -> impl Strategy<Value = (PluginConfig, Vec<Asked>)> {
    let key = (select(&["secure", "other"]), select(&["payment", "stats", "payment-clusterset"]));
    let import = key.prop_flat_map(|(namespace, name)| sound_import(namespace, name));
    let import = prop_oneof![15 => import.clone(), 1 => broken(import)];
    let unknown_hosts = select(&[UnknownHosts::Pass, UnknownHosts::Refuse]);
    (vec(import, 1..5), unknown_hosts).prop_flat_map(|(imports, unknown_hosts)| {
        let requests = vec(request_near(&imports), 1..8);
        let config = PluginConfig { version: VERSION, revision: None, unknown_hosts, paths: paths(), imports };
        (Just(config), requests)
    })
}

/// How many paths generated choices have.
pub(crate) const PATHS: u32 = 12;

/// The paths that generated choices name.
pub(crate) fn paths() -> Vec<WanPath> {
    (0..PATHS).map(|path| super::mk_path(&format!("tier-{}", path % 3), &format!("cluster-{}", path / 3))).collect()
}

/// Levels of some of these paths: nothing is known of the others.
pub(crate) fn levels() -> impl Strategy<Value = Vec<Level>> {
    let sound = vec(select(&[Level::In, Level::In, Level::Out, Level::Down]), 0..=12);
    let bad = vec(select(&[Level::Out, Level::Down]), 12);
    prop_oneof![2 => sound, 1 => bad]
}

fn sound_import(namespace: &'static str, name: &'static str) -> impl Strategy<Value = Import> + Clone {
    const HOSTNAMES: &[&str] = &[
        "pay.example.com",
        "*.pay.example.com",
        "*.example.com",
        "a.pay.example.com",
        "payment.secure",
        "*.secure",
        "*.secure.svc.cluster.local",
    ];
    const NO_MATCH: &[NoMatch] =
        &[NoMatch::Forbidden, NoMatch::NotFound, NoMatch::TooManyRequests, NoMatch::ServiceUnavailable];
    let rules = prop_oneof![4 => vec(rule::rule(), 1..6), 1 => vec(rule::rule(), 0..20)];
    let serves = prop_oneof![4 => Just(Serves::Service), 1 => Just(Serves::View), 1 => Just(Serves::Hosts)];
    let parts = (serves, subsequence(HOSTNAMES, 0..3), select(NO_MATCH), rules);
    parts.prop_map(move |(serves, hostnames, no_match, rules)| Import {
        namespace: namespace.to_owned(),
        name: if serves == Serves::Hosts { format!("{name}.example") } else { name.to_owned() },
        serves,
        hostnames: hostnames.into_iter().map(str::to_owned).collect(),
        no_match,
        targets: ["high", "low", "service"].map(|target| mk_target(namespace, name, target)).into(),
        rules,
    })
}

fn mk_target(namespace: &str, name: &str, target: &str) -> TargetConfig {
    TargetConfig { name: target.to_owned(), digest: format!("{namespace}-{name}-{target}") }
}

/// Breaks one match of an import, if it has a rule.
fn broken(import: impl Strategy<Value = Import>) -> impl Strategy<Value = Import> {
    let path = select(&[
        PathMatch::Regex as fn(String) -> PathMatch,
        PathMatch::Exact as fn(String) -> PathMatch,
        PathMatch::Prefix as fn(String) -> PathMatch,
        PathMatch::RawPrefix as fn(String) -> PathMatch,
    ]);
    // Each value is wrong as a pattern and as a path.
    let value = select(&["(", "a)|(b", "/a//b)", "[/../", "/%2f("]);
    (import, path, value, any::<prop::sample::Index>()).prop_map(|(mut import, path, value, index)| {
        if !import.rules.is_empty() {
            let rule = index.index(import.rules.len());
            let alternative = mcwan_policy::wire::Match { path: Some(path(value.to_owned())), ..Default::default() };
            import.rules[rule].matches.push(alternative);
        }
        import
    })
}
