//! The same rules as an `HTTPRoute`'s own, for the native data plane.

use std::collections::BTreeSet;

use mcwan_policy::wire::{Action, HeaderModifier, PathRewrite, Redirect, RefuseStatus, Rule, Scheme};
use mcwan_policy::{ImportError, trim_prefix};
use serde_json::{Value, json};

use crate::emit::object::Object;
use crate::emit::plugin::chosen;
use crate::json::put;
use crate::problem::{Problem, Reason};
use crate::translate::{Forwarding, HeaderChanges, Import, in_turn};

use super::backend::{self, Backend};
use super::forwarding::{self, Unsayable};
use super::{gateway, names, native_match, route};

/// Adds the routes of an import for the hosts that it has. `errors` are what the filter would find wrong with it.
pub(super) fn routes(
    import: &Import,
    errors: Vec<ImportError>,
    hosts: &[String],
    objects: &mut Vec<Object>,
    problems: &mut Vec<Problem>,
) {
    let is_broken = native_match::report(import, problems) || errors.iter().any(ImportError::breaks_import);
    let native = Native { import, errors, names: names_of_one(import) };
    for (port, listener) in gateway::served_ports(import, &mut Vec::new()) {
        let rules = if is_broken {
            vec![json!({"name": "broken", "matches": [native_match::everything()]})]
        } else {
            let rules = import.wire.rules.iter().enumerate().filter(|(_, rule)| rule.holds_on(port));
            rules.flat_map(|(index, rule)| native.rules(index, rule, port, problems)).collect()
        };
        route::routes(import, names::NATIVE_EGRESS_GATEWAY, (port, listener), hosts, rules, objects);
    }
    if !is_broken {
        no_match(import, problems);
    }
}

/// The names that one rule has, where all were written in one object.
fn names_of_one(import: &Import) -> BTreeSet<&str> {
    let (mut once, mut known) = (BTreeSet::new(), BTreeSet::new());
    let rules = if import.has_one_source() { import.rules.len() } else { 0 };
    for name in (0..rules).filter_map(|rule| import.rule_name(rule)) {
        if known.insert(name) {
            once.insert(name);
        } else {
            once.remove(name);
        }
    }
    once
}

/// Gateway API answers 404 where no rule matches.
fn no_match(import: &Import, problems: &mut Vec<Problem>) {
    let status = import.wire.no_match.status();
    let matches_all = import.wire.rules.iter().any(|rule| rule.matches.is_empty());
    if status != 404 && !matches_all {
        let message = format!("plain routes answer 404, not {status}, where no rule matches");
        let problem = Problem::warning(import.object.clone(), Reason::UnsupportedStatus, message);
        problems.push(problem.at(import.fields.no_match));
    }
}

struct Native<'n> {
    import: &'n Import,
    /// What the filter would find wrong with the import.
    errors: Vec<ImportError>,
    /// The names that rules may have: no other of an `HTTPRoute` may have it.
    names: BTreeSet<&'n str>,
}

impl Native<'_> {
    /// A rule as one of an `HTTPRoute`, or as one for each match where a prefix is replaced.
    fn rules(&self, index: usize, rule: &Rule, port: u16, problems: &mut Vec<Problem>) -> Vec<Value> {
        let matches = native_match::render(rule);
        let prefixes = prefixes(rule);
        let replaces_prefix = rule.actions.iter().any(|action| matches!(path_of(action), Some(PathRewrite::Prefix(_))));
        let parts: Vec<_> = if replaces_prefix {
            matches.into_iter().zip(&prefixes).map(|(one, prefix)| (vec![one], *prefix)).collect()
        } else {
            vec![(matches, "")]
        };
        let name = self.import.rule_name(index);
        let name = name.filter(|name| self.names.contains(name) && forwarding::precise_hostname(name).is_ok());
        let name = name.map_or_else(|| index.to_string(), str::to_owned);
        let rendered = parts.into_iter().map(|(matches, prefix)| {
            let mut rendered = self.action(index, rule, prefix, port).unwrap_or_else(|unsayable| {
                route::report(self.import, index, &unsayable, problems);
                json!({})
            });
            put(&mut rendered, "name", name.as_str());
            put(&mut rendered, "matches", matches);
            rendered
        });
        rendered.collect()
    }

    /// What a rule does; nothing where the filter would answer 500, too.
    fn action(&self, index: usize, rule: &Rule, prefix: &str, port: u16) -> Result<Value, Unsayable> {
        let chosen = chosen(&self.errors, index, rule);
        match &*chosen {
            [(Action::Redirect(redirect), None)] => return redirected(redirect, prefix, port),
            refused
                if refused
                    .iter()
                    .any(|(_, refused)| matches!(refused, Some((_, RefuseStatus::ServiceUnavailable)))) =>
            {
                return Err(Unsayable::new("an HTTPRoute refuses with 500, not with 503"));
            }
            refused if refused.iter().all(|(_, refused)| refused.is_some()) => return Ok(json!({})),
            _ => {}
        }
        let mut forwards = Vec::new();
        for (action, refused) in chosen {
            if let Action::Choose(_) = action {
                return Err(Unsayable::new("an HTTPRoute does not choose a tier by what is measured of it"));
            }
            let (Action::Forward(forward), None) = (action, refused) else {
                return Err(Unsayable::new("a share of the requests cannot be redirected or refused natively"));
            };
            let target = usize::try_from(forward.target).ok().and_then(|target| self.import.targets.get(target));
            let target = target.ok_or_else(|| Unsayable::new("a backend without a target"))?;
            forwards.push((forward, target));
        }
        let [(first, target), others @ ..] = &*forwards else { return Ok(json!({})) };
        let common = &target.forwarding;
        if others.iter().any(|(forward, _)| forward.path != first.path) {
            return Err(Unsayable::new("the path cannot be rewritten for one backend only natively"));
        }
        if others.iter().any(|(_, target)| !shares_rule(&target.forwarding, common)) {
            let message = "hostname, mirrors and CORS cannot be asked for by one backend only natively";
            return Err(Unsayable::new(message));
        }
        let backends = forwards.iter().map(|(forward, target)| Backend {
            destination: &target.destination,
            weight: forward.weight,
            headers: if others.is_empty() {
                HeaderChanges::default()
            } else {
                target.forwarding.backend_headers.clone()
            },
        });
        let refs = backend::refs(self.import, &backends.collect::<Vec<_>>(), port)?;
        let path = first.path.as_ref().map(|path| rewrite(path, prefix)).transpose()?.flatten();
        let canonical = self.import.canonical_host();
        let hostname = common.hostname.as_deref().unwrap_or(&canonical);
        let headers = headers(common, others.is_empty());
        let filters = forwarding::filters(self.import, common, &headers, Some(hostname), path, port)?;
        let mut rendered = json!({"backendRefs": refs, "filters": filters});
        if let Some(timeouts) = &common.timeouts {
            put(&mut rendered, "timeouts", json!(timeouts));
        }
        Ok(rendered)
    }
}

/// What the rule itself does to headers. Envoy does a route's changes after those of one of several backends, but
/// before those of its only one: these are among the route's.
fn headers(forwarding: &Forwarding, is_only: bool) -> HeaderChanges {
    let Forwarding { backend_headers, rule_headers, .. } = forwarding;
    if !is_only {
        return rule_headers.clone();
    }
    HeaderChanges {
        request: in_turn(&backend_headers.request, &rule_headers.request),
        response: in_turn(&backend_headers.response, &rule_headers.response),
    }
}

/// Whether two backends of a rule differ in nothing that only the rule can say.
fn shares_rule(one: &Forwarding, other: &Forwarding) -> bool {
    one.mirrors == other.mirrors && one.cors == other.cors && one.hostname == other.hostname
}

/// The prefix that each match of a rule asks for, without its trailing `/`.
fn prefixes(rule: &Rule) -> Vec<&str> {
    if rule.matches.is_empty() {
        return vec![""];
    }
    rule.matches.iter().map(native_match::prefix).collect()
}

fn path_of(action: &Action) -> Option<&PathRewrite> {
    match action {
        Action::Forward(forward) => forward.path.as_ref(),
        Action::Choose(choose) => choose.path.as_ref(),
        Action::Redirect(redirect) => redirect.path.as_ref(),
        Action::Refuse(_) => None,
    }
}

/// A path rewrite; none where it changes nothing.
fn rewrite(path: &PathRewrite, prefix: &str) -> Result<Option<Value>, Unsayable> {
    match path {
        // istiod makes it a substitution, in which a backslash means something.
        PathRewrite::Full(path) if path.contains('\\') => {
            Err(Unsayable::new("istiod does not take a path with a backslash as it is"))
        }
        PathRewrite::Full(path) => Ok(Some(full_path(path))),
        PathRewrite::Prefix(replacement) => match (prefix, trim_prefix(replacement)) {
            ("", "") => Ok(None),
            ("", _) => Err(Unsayable::new("istiod does not put a path in front of another one")),
            (_, "") => Ok(Some(prefix_match("/"))),
            (_, replacement) => Ok(Some(prefix_match(replacement))),
        },
    }
}

fn full_path(path: &str) -> Value {
    json!({"type": "ReplaceFullPath", "replaceFullPath": path})
}

fn prefix_match(replacement: &str) -> Value {
    json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": replacement})
}

fn redirected(redirect: &Redirect, prefix: &str, service_port: u16) -> Result<Value, Unsayable> {
    let Redirect { weight: _, status, scheme, hostname, port, path, headers } = redirect;
    let mut filter = json!({"statusCode": status});
    if let Some(scheme) = scheme {
        let scheme = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        put(&mut filter, "scheme", scheme);
    }
    if let Some(hostname) = hostname {
        put(&mut filter, "hostname", forwarding::precise_hostname(hostname)?);
    }
    // The listener's port may be another one than the client used.
    let own = if scheme.is_none() { Some(service_port) } else { None };
    if let Some(port) = port.or(own) {
        put(&mut filter, "port", port);
    }
    match path {
        None => {}
        Some(PathRewrite::Full(path)) => put(&mut filter, "path", full_path(path)),
        Some(PathRewrite::Prefix(replacement)) => match (prefix, trim_prefix(replacement)) {
            ("", "") => {}
            ("", _) | (_, "") => {
                return Err(Unsayable::new("istiod does not redirect from or to the prefix `/` as it should"));
            }
            (_, replacement) => put(&mut filter, "path", prefix_match(replacement)),
        },
    }
    let mut filters = vec![json!({"type": "RequestRedirect", "requestRedirect": filter})];
    filters.extend(forwarding::header_filters(&HeaderModifier::default(), headers)?);
    Ok(json!({"filters": filters}))
}
