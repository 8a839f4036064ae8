//! RESOURCES, "Hosts of an import".

use std::collections::BTreeSet;

use mcwan_policy::wire::{Import, PluginConfig, Serves};

/// The import that has the host of an authority, and the host that its rules must name, if any does: an exact claim
/// before a wildcard, the longest wildcard first, the earlier import first.
pub(crate) fn scope<'c>(config: &'c PluginConfig, authority: &str) -> Option<(&'c Import, Option<&'c str>)> {
    let host = normalised(authority);
    let claims: Vec<(String, &Import)> = config
        .imports
        .iter()
        .flat_map(|import| claims_of(config, import).into_iter().map(move |claim| (claim, import)))
        .collect();
    let exact = claims.iter().find(|(claim, _)| *claim == host);
    let longest_wildcard = || {
        let matching = claims.iter().filter(|(claim, _)| wildcard_holds(claim, &host));
        matching.reduce(|best, next| if next.0.len() > best.0.len() { next } else { best })
    };
    let (claim, import) = exact.or_else(longest_wildcard)?;
    Some((import, import.rules.iter().filter_map(|rule| rule.host.as_deref()).find(|host| host == claim)))
}

/// The place of the import that has a host, or a wildcard, that imports claim.
pub(crate) fn claimant(config: &PluginConfig, claim: &str) -> Option<usize> {
    config.imports.iter().position(|import| claims_of(config, import).iter().any(|host| host == claim))
}

/// An authority without its port and one trailing dot, in lower case.
pub(crate) fn normalised(authority: &str) -> String {
    let host = without_port(authority);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// An authority without its port (RFC 3986, section 3.2.3: digits, perhaps none).
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// `*.a.b` holds for every name below `a.b`.
fn wildcard_holds(claim: &str, host: &str) -> bool {
    claim.strip_prefix('*').is_some_and(|suffix| host.len() > suffix.len() && host.ends_with(suffix))
}

/// Every host that an import has among its neighbours: bare names that another namespace would claim
/// too are left out.
fn claims_of(config: &PluginConfig, import: &Import) -> Vec<String> {
    let elsewhere: Vec<String> =
        config.imports.iter().filter(|other| other.namespace != import.namespace).flat_map(bare_names).collect();
    hosts_of(import).into_iter().filter(|host| !elsewhere.contains(host)).collect()
}

/// Every host of an import that is alone on its gateway.
pub(crate) fn hosts_of(import: &Import) -> Vec<String> {
    let namespace = &import.namespace;
    let chosen = import.hostnames.iter().chain(import.rules.iter().filter_map(|rule| rule.host.as_ref()));
    let mut hosts: Vec<_> = chosen.collect::<BTreeSet<_>>().into_iter().cloned().collect();
    if import.serves == Serves::Hosts {
        return hosts;
    }
    for name in [import.name.clone(), format!("{}-clusterset", import.name)] {
        hosts.push(format!("{name}.{namespace}"));
        hosts.push(format!("{name}.{namespace}.svc"));
        hosts.push(format!("{name}.{namespace}.svc.cluster.local"));
    }
    hosts.extend(bare_names(import));
    hosts.push(format!("{}.{namespace}.svc.clusterset.local", import.name));
    hosts
}

fn bare_names(import: &Import) -> Vec<String> {
    if import.serves != Serves::Service {
        return Vec::new();
    }
    vec![import.name.clone(), format!("{}-clusterset", import.name)]
}
