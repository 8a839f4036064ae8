//! Configurations of any size, and the requests that fit them.

use mcwan_policy::wire::{
    Action, Forward, Import, Match, Method, NoMatch, PathMatch, PluginConfig, Rule, Serves, TargetConfig, UnknownHosts,
    VERSION,
};
use mcwan_wasm_tests::Request;

const NAMESPACE: &str = "bench";

/// As many imports with as many rules each: rule n matches the prefix [`path`] of n.
pub(crate) fn config(imports: usize, rules: usize) -> PluginConfig {
    PluginConfig {
        version: VERSION,
        revision: None,
        unknown_hosts: UnknownHosts::Pass,
        paths: Vec::new(),
        imports: (0..imports).map(|number| import(number, rules)).collect(),
    }
}

/// Hosts that somebody chose, each with a rule for a path, of one namespace.
pub(crate) fn config_of_hosts(hosts: usize) -> PluginConfig {
    let of_host = |number: usize| Rule { host: Some(host(number)), ..rule(0) };
    let import = Import {
        name: "route.openshift.io".to_owned(),
        serves: Serves::Hosts,
        rules: (0..hosts).map(of_host).collect(),
        ..import(0, 0)
    };
    PluginConfig { imports: vec![import], ..config(0, 0) }
}

/// A request for one of these hosts.
pub(crate) fn request_for_host(number: usize) -> Request {
    Request::get(host(number), path(0))
}

fn host(number: usize) -> String {
    format!("host-{number:05}.example.com")
}

/// One import with one rule, which asks for the method GET too.
pub(crate) fn config_with_method() -> PluginConfig {
    let mut config = config(1, 1);
    let matches = config.imports.iter_mut().flat_map(|import| &mut import.rules).flat_map(|rule| &mut rule.matches);
    matches.for_each(|candidate| candidate.method = Some(Method::Get));
    config
}

/// A request that rule `rule` of import `import` matches.
pub(crate) fn request(import: usize, rule: usize) -> Request {
    Request::get(format!("{}.{NAMESPACE}", name(import)), path(rule))
}

fn import(number: usize, rules: usize) -> Import {
    Import {
        namespace: NAMESPACE.to_owned(),
        name: name(number),
        serves: Serves::Service,
        hostnames: Vec::new(),
        no_match: NoMatch::default(),
        targets: ["sd-wan-priority-high", "sd-wan-priority-low"].map(|name| target(name, number)).into(),
        rules: (0..rules).map(rule).collect(),
    }
}

/// A digest is as long as a real one, and no two are the same.
fn target(name: &str, import: usize) -> TargetConfig {
    TargetConfig { name: name.to_owned(), digest: format!("{import:032x}") }
}

fn rule(number: usize) -> Rule {
    let path = Some(PathMatch::Prefix(path(number)));
    let target = u32::from(number % 2 == 1);
    Rule {
        host: None,
        ports: Vec::new(),
        matches: vec![Match { path, ..Match::default() }],
        actions: vec![Action::Forward(Forward { target, weight: 1, path: None })],
    }
}

fn name(import: usize) -> String {
    format!("service-{import:05}")
}

fn path(rule: usize) -> String {
    format!("/path-{rule:05}")
}
