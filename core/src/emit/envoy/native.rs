//! The same rules as routes of Envoy's own, for the native data plane.

use std::collections::BTreeSet;

use mcwan_policy::wire::{self, Action, PathMatch, PathRewrite, Redirect, Scheme};
use mcwan_policy::{ImportError, REASON_HEADER, Rank, Reason, trim_prefix};
use serde_json::{Value, json};

use crate::emit::plugin::chosen;
use crate::json::put;
use crate::problem::{FieldPath, Problem};
use crate::translate::{Destination, Forwarding, Import};

use super::forwarding::{self, Route, escape};
use super::{Clusters, Scene, cluster, cluster_name, import_name};

/// The virtual host of an import: its routes by rank, and what answers where none matches. None if older
/// imports have all its hosts.
pub(super) fn virtual_host(
    scene: Scene<'_>,
    index: usize,
    import: &Import,
    port: u16,
    clusters: &mut Clusters,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let claims = scene.plugin.table.claims(index);
    // A set, as an import may name a host twice and Envoy takes no domain twice.
    let domains: BTreeSet<_> =
        claims.into_iter().filter(|claim| claim.owner == Some(index)).map(|claim| claim.host).collect();
    if domains.is_empty() {
        return None;
    }
    let errors = scene.plugin.errors(index, import);
    let broken = errors.iter().find(|error| error.breaks_import()).map(|error| error.part.reason());
    let mut native = Native { scene, import, errors, port, clusters, problems };
    let routes = match broken {
        Some(reason) => vec![native.refusal("broken", &json!({"prefix": "/"}), reason)],
        None => native.routes(),
    };
    Some(json!({"name": import_name(import), "domains": domains, "routes": routes}))
}

struct Native<'n> {
    scene: Scene<'n>,
    import: &'n Import,
    /// What the filter would find wrong with the import.
    errors: Vec<ImportError>,
    port: u16,
    clusters: &'n mut Clusters,
    problems: &'n mut Vec<Problem>,
}

/// What Envoy's routes cannot say.
struct Unsayable(&'static str);

impl Native<'_> {
    fn routes(&mut self) -> Vec<Value> {
        let every_request = [wire::Match::default()];
        let mut ranked = Vec::new();
        for (index, rule) in self.import.wire.rules.iter().enumerate().filter(|(_, rule)| rule.holds_on(self.port)) {
            let matches = if rule.matches.is_empty() { &every_request[..] } else { &rule.matches };
            ranked.extend(
                matches
                    .iter()
                    .enumerate()
                    .map(|(position, alternative)| (Rank::new(alternative, index, position), index, rule, alternative)),
            );
        }
        ranked.sort_by_key(|(rank, ..)| std::cmp::Reverse(*rank));
        let mut routes = Vec::new();
        for (_, index, rule, alternative) in ranked {
            let name = self.import.rule_name(index).map_or_else(|| index.to_string(), str::to_owned);
            let matcher = matcher(alternative);
            let route = self.route(&name, matcher.clone(), index, rule, alternative);
            routes.push(route.unwrap_or_else(|Unsayable(message)| {
                let reason = Reason::UnsupportedFilter;
                let problem = self.import.rule_error(index, FieldPath::root(), reason.into(), message);
                let problem = problem.hint("the Wasm data plane can do it: `dataPlane: Wasm`");
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                self.refusal(&name, &matcher, reason)
            }));
        }
        let everything = json!({"prefix": "/"});
        routes.push(self.refusal("no-match", &everything, Reason::NoRuleMatched));
        routes
    }

    fn route(
        &mut self,
        name: &str,
        matcher: Value,
        index: usize,
        rule: &wire::Rule,
        alternative: &wire::Match,
    ) -> Result<Value, Unsayable> {
        let chosen = chosen(&self.errors, index, rule);
        match &*chosen {
            [] => return Ok(self.refusal(name, &matcher, Reason::NoBackend)),
            [(_, Some(refused)), others @ ..] if others.iter().all(|(_, other)| other.as_ref() == Some(refused)) => {
                let (reason, status) = *refused;
                return Ok(self.answer(name, &matcher, reason, status.code()));
            }
            [(Action::Redirect(redirect), None)] => return self.redirect(name, &matcher, redirect, alternative),
            _ => {}
        }
        let mut backends = Vec::new();
        let (mut path, mut port) = (None, None);
        for (action, refused) in chosen {
            if let Action::Choose(_) = action {
                return Err(Unsayable("Envoy's routes do not choose a tier by what is measured of it"));
            }
            let (Action::Forward(forward), None) = (action, refused) else {
                return Err(Unsayable("a share of the requests cannot be redirected or refused natively"));
            };
            let target = usize::try_from(forward.target).ok().and_then(|target| self.import.targets.get(target));
            let target = target.ok_or(Unsayable("a backend without a target"))?;
            if path.get_or_insert(&forward.path) != &&forward.path {
                return Err(Unsayable("the path cannot be rewritten for one backend only natively"));
            }
            // A Service of this cluster does not look at it.
            let meant = target.destination.told_port(self.port);
            let is_told = !matches!(target.destination, Destination::Service { .. });
            if is_told && *port.get_or_insert(meant) != meant {
                return Err(Unsayable("backends with different ports cannot share requests natively"));
            }
            let cluster = cluster_name(self.import, &target.destination, self.port);
            let Self { scene, import, port: used, .. } = *self;
            cluster::add(scene, import, &target.destination, used, cluster.clone(), self.clusters, self.problems);
            backends.push((cluster, forward.weight, &target.forwarding));
        }
        let common = backends.first().map(|(_, _, forwarding)| *forwarding).ok_or(Unsayable("no backend"))?;
        if backends.iter().any(|(_, _, forwarding)| !shares_rule(forwarding, common)) {
            return Err(Unsayable("mirrors and CORS cannot be asked for by one backend only natively"));
        }
        let mirrors = forwarding::mirrors(self.scene, self.import, common, self.port, self.clusters, self.problems);
        let path = match path.and_then(Option::as_ref) {
            Some(rewrite) => regex_rewrite(rewrite, alternative),
            None => None,
        };
        let canonical_host = Some(self.import.canonical_host());
        let route = Route { name: self.route_name(name), matcher, port: port.unwrap_or(self.port), canonical_host };
        Ok(forwarding::route(&route, &backends, &mirrors, path))
    }

    fn redirect(
        &self,
        name: &str,
        matcher: &Value,
        redirect: &Redirect,
        alternative: &wire::Match,
    ) -> Result<Value, Unsayable> {
        let Redirect { weight: _, status, scheme, hostname, port, path, headers } = redirect;
        let code = match status {
            301 => "MOVED_PERMANENTLY",
            302 => "FOUND",
            303 => "SEE_OTHER",
            307 => "TEMPORARY_REDIRECT",
            308 => "PERMANENT_REDIRECT",
            _ => return Err(Unsayable("this status is no redirect's")),
        };
        let mut action = json!({"response_code": code});
        let (text, well_known) = match scheme {
            Some(Scheme::Https) => (Some("https"), 443),
            Some(Scheme::Http) => (Some("http"), 80),
            None => (None, 80),
        };
        if let Some(scheme) = text {
            put(&mut action, "scheme_redirect", json!(scheme));
        }
        if let Some(hostname) = hostname {
            put(&mut action, "host_redirect", json!(hostname));
        }
        let listener = if scheme.is_none() { Some(self.port) } else { None };
        if let Some(port) = port.or(listener).filter(|port| *port != well_known) {
            put(&mut action, "port_redirect", json!(port));
        }
        if let Some(rewrite) = path.as_ref().and_then(|path| regex_rewrite(path, alternative)) {
            put(&mut action, "regex_rewrite", rewrite);
        }
        let mut route = json!({"name": self.route_name(name), "match": matcher, "redirect": action});
        forwarding::change_headers(&mut route, "response", headers);
        Ok(route)
    }

    /// A route that answers as the filter would.
    fn refusal(&self, name: &str, matcher: &Value, reason: Reason) -> Value {
        self.answer(name, matcher, reason, reason.status(self.import.wire.no_match))
    }

    fn answer(&self, name: &str, matcher: &Value, reason: Reason, status: u16) -> Value {
        json!({
            "name": self.route_name(name),
            "match": matcher,
            "direct_response": {"status": status, "body": {"inline_string": reason.sentence()}},
            "response_headers_to_add": [{"header": {"key": REASON_HEADER, "value": reason.as_str()}}],
        })
    }

    fn route_name(&self, name: &str) -> String {
        format!("{}/{name}", import_name(self.import))
    }
}

/// Whether two backends of a rule differ in nothing that only the route can say.
fn shares_rule(one: &Forwarding, other: &Forwarding) -> bool {
    one.mirrors == other.mirrors && one.cors == other.cors
}

fn matcher(alternative: &wire::Match) -> Value {
    let wire::Match { path, method, headers, query_params } = alternative;
    let mut matcher = match path {
        None => json!({"prefix": "/"}),
        Some(PathMatch::Exact(path)) => json!({"path": path}),
        Some(PathMatch::RawPrefix(prefix)) => json!({"prefix": prefix}),
        Some(PathMatch::Regex(pattern)) => json!({"safe_regex": {"regex": pattern}}),
        Some(PathMatch::Prefix(prefix)) => match trim_prefix(prefix) {
            "" => json!({"prefix": "/"}),
            prefix => json!({"path_separated_prefix": prefix}),
        },
    };
    let method = method.map(|method| json!({"name": ":method", "string_match": {"exact": method.as_str()}}));
    let headers = headers.iter().map(|header| {
        let name = if header.name.eq_ignore_ascii_case("host") { ":authority" } else { &header.name };
        json!({"name": name, "string_match": string_match(&header.value)})
    });
    let headers: Vec<_> = method.into_iter().chain(headers).collect();
    if !headers.is_empty() {
        put(&mut matcher, "headers", json!(headers));
    }
    let param = |param: &wire::ValueMatch| json!({"name": param.name, "string_match": string_match(&param.value)});
    if !query_params.is_empty() {
        put(&mut matcher, "query_parameters", json!(query_params.iter().map(param).collect::<Vec<_>>()));
    }
    matcher
}

fn string_match(value: &wire::Value) -> Value {
    match value {
        wire::Value::Exact(exact) => json!({"exact": exact}),
        wire::Value::Regex(pattern) => json!({"safe_regex": {"regex": pattern}}),
    }
}

/// A path rewrite over the path without its query; none where it changes nothing.
fn regex_rewrite(rewrite: &PathRewrite, alternative: &wire::Match) -> Option<Value> {
    let (pattern, substitution) = match rewrite {
        PathRewrite::Full(path) => ("^.*$".to_owned(), path.as_str()),
        PathRewrite::Prefix(replacement) => {
            let prefix = match &alternative.path {
                Some(PathMatch::Prefix(prefix) | PathMatch::RawPrefix(prefix)) => trim_prefix(prefix),
                _ => "",
            };
            match (prefix, trim_prefix(replacement)) {
                ("", "") => return None,
                // The `/` behind the prefix goes too, else nothing may be left of the path.
                (prefix, "") => (format!("^{}/?", escape(prefix)), "/"),
                (prefix, replacement) => (format!("^{}", escape(prefix)), replacement),
            }
        }
    };
    let substitution = substitution.replace('\\', r"\\");
    Some(json!({"pattern": {"regex": pattern}, "substitution": substitution}))
}
