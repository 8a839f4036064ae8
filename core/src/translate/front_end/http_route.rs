//! The front end for `HTTPRoute`s that have an import as their parent.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube_core::Resource;
use mcwan_policy::wire::NoMatch;

use super::http_match::wire_match;
use super::{FrontEnd, FrontRule};
use crate::api::{ExportedPort, GATEWAY_API_GROUP, HttpRoute, ParentRef, RouteRule, limits};
use crate::problem::{ObjectRef, Reason};
use crate::snapshot::{Key, Snapshot};
use crate::translate::{Exports, Origin, merge};

/// What becomes of a parent of a route that is an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The route.
    pub route: Key,
    /// The index of the parent in its list.
    pub parent: usize,
    /// Whether the rules of the route hold for the import, by this parent; else why not, and what to say.
    pub verdict: Result<(), (Reason, String)>,
}

/// On which ports of an import the rules of a route hold.
#[derive(Default)]
struct Ports {
    is_all: bool,
    some: BTreeSet<u16>,
}

impl Ports {
    fn is_empty(&self) -> bool {
        !self.is_all && self.some.is_empty()
    }
}

impl<'s> FrontEnd<'s> {
    /// What is said of an import by the routes that have it as their parent, too: where its `ServiceImport` has no rules,
    /// theirs hold, on the ports that they are for. They are never merged with others.
    pub(super) fn with_routes(mut self, key: &Key, is_open: bool, snapshot: &'s Snapshot, exports: &Exports) -> Self {
        let routes = snapshot.routes.below(key);
        if routes.is_empty() {
            return self;
        }
        let named = named_ports(exports, self.namespace, self.name);
        let mut rules = Vec::new();
        let mut claimed = Ports::default();
        for route in routes {
            let ports = self.attach(route, key, is_open, &named);
            if ports.is_empty() {
                continue;
            }
            let object = Arc::new(ObjectRef::of(route));
            let list: Vec<_> = ports.some.iter().copied().filter(|_| !ports.is_all).collect();
            rules.extend(route.rules.iter().enumerate().map(|(index, rule)| written(rule, index, &object, &list)));
            claimed.is_all |= ports.is_all;
            claimed.some.extend(ports.some);
        }
        if claimed.is_empty() {
            return self;
        }
        if let Some(broken) = rules.iter().position(|rule| rule.fault.is_some_and(|fault| fault.is_of_match)) {
            // It is not known what it would take from the others.
            let broken = rules.swap_remove(broken);
            self.rules = Some(vec![FrontRule { matches: Vec::new(), ports: Vec::new(), ..broken }]);
            return self;
        }
        if self.rules.is_none() {
            self.no_match = NoMatch::NotFound;
            if !claimed.is_all {
                let mut others = named.iter().map(|(port, _)| *port);
                self.default_ports = others.by_ref().filter(|port| !claimed.some.contains(port)).collect();
            }
        }
        self.rules = Some(rules);
        self
    }

    /// On which ports the rules of a route hold; what becomes of each of its parents is taken note of.
    fn attach(&mut self, route: &HttpRoute, key: &Key, is_open: bool, named: &[(u16, Option<String>)]) -> Ports {
        let namespace = route.metadata.namespace.as_deref().unwrap_or_default();
        let mut ports = Ports::default();
        for (index, parent) in route.parents.iter().enumerate() {
            if parent.import(namespace) != Some((&*key.namespace, &*key.name)) {
                continue;
            }
            let verdict = if namespace != &*key.namespace {
                let message = format!("only routes of namespace {} give rules for it", key.namespace);
                Err((Reason::RefNotPermitted, message))
            } else if !is_open {
                Err((Reason::Conflicted, format!("the rules of {} hold", self.object)))
            } else {
                fitting(parent, named)
            };
            let verdict = verdict.map(|fitting| match fitting {
                None => ports.is_all = true,
                Some(fitting) => ports.some.extend(fitting),
            });
            self.attachments.push(Attachment { route: Key::of(route.meta()), parent: index, verdict });
        }
        ports
    }
}

/// The ports that a parent is for: all, or those that have its number and its name.
fn fitting(parent: &ParentRef, named: &[(u16, Option<String>)]) -> Result<Option<Vec<u16>>, (Reason, String)> {
    let ParentRef { section_name, port, .. } = parent;
    if section_name.is_none() && port.is_none() {
        return Ok(None);
    }
    let fits = |(number, name): &&(u16, Option<String>)| {
        port.is_none_or(|port| port == *number) && (section_name.is_none() || section_name == name)
    };
    let fitting: Vec<_> = named.iter().filter(fits).map(|(number, _)| *number).collect();
    if fitting.is_empty() {
        let known = named
            .iter()
            .map(|(number, name)| name.as_ref().map_or(number.to_string(), |name| format!("{name} {number}")));
        let known: Vec<_> = known.collect();
        let message = format!("no HTTP port of the service fits; it has {}", known.join(", "));
        return Err((Reason::NoMatchingParent, message));
    }
    Ok(Some(fitting))
}

/// The HTTP ports that a service has in all clusters, with their names: of too many, those that are served, as rules for
/// more would be over the filter's bound and refuse the import.
fn named_ports(exports: &Exports, namespace: &str, name: &str) -> Vec<(u16, Option<String>)> {
    let merged = merge(exports.declared(namespace, name).collect());
    let ports = merged.map(|merged| merged.ports).unwrap_or_default();
    let served = ports.into_iter().filter(ExportedPort::is_http).take(limits::PORTS);
    served.map(|port| (port.port.get(), port.name)).collect()
}

fn written<'s>(rule: &'s RouteRule, index: usize, object: &Arc<ObjectRef>, ports: &[u16]) -> FrontRule<'s> {
    let RouteRule { rule, fault } = rule;
    let origin = Origin {
        name: rule.name.clone(),
        object: Arc::clone(object),
        group: GATEWAY_API_GROUP,
        field: HttpRoute::rule_field(index),
    };
    let matches = rule.matches.iter().map(wire_match).collect();
    FrontRule { origin, matches, ports: ports.to_vec(), rule, fault: fault.as_ref() }
}
