//! The rules that a `Route` comes to, and the room that they take.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::limits;
use mcwan_policy::wire::{self, Action, Forward, PathMatch, Refuse, RefuseReason, RefuseStatus};

use super::asks::{Asks, Insecure};
use super::backends::{Backends, Known};
use super::{PORTS, Refused, RouteOptions};
use crate::api::OpenshiftRoute;
use crate::kind::OPENSHIFT_ROUTE;
use crate::problem::{FieldPath, Reason};
use crate::snapshot::Key;
use crate::translate::front_end::{Deed, FrontRule};
use crate::translate::{Origin, target};

/// The status of a redirect to TLS, as of the router.
const FOUND: u16 = 302;
/// Bytes that the routes of a namespace take of the filter's config: what is left is for its imports, and for targets that
/// are missing for a while, as to refuse takes more than to forward.
const BYTES: usize = limits::WASM_PLUGIN_CONFIG_BYTES / 4 * 3;
/// Bytes of a target beside its name.
const TARGET_BYTES: usize = 128;

/// What a route that has its host and path comes to. One that is refused for what it asks keeps them.
pub(super) struct Served<'s> {
    pub(super) rules: Vec<FrontRule<'s>>,
    /// The Secret with the certificate of its host.
    pub(super) certificate: Option<String>,
    pub(super) admitted: Result<String, Refused>,
    pub(super) unresolved: Option<Refused>,
    /// The Services and imports that it depends on.
    pub(super) services: BTreeSet<Key>,
}

/// What the routes of a namespace take so far.
#[derive(Default)]
pub(super) struct Taken {
    rules: usize,
    bytes: usize,
    targets: BTreeSet<String>,
}

impl Served<'_> {
    pub(super) fn of(route: &OpenshiftRoute, host: &str, path: &str, known: Known<'_>, options: &RouteOptions) -> Self {
        let rule = |ports: &[u16], deed| mk_rule(route, host, path, ports, deed);
        let Asks { tls, rewrite, forwarding, notes } = match Asks::of(route, known.snapshot, options) {
            Ok(asks) => asks,
            Err(refused) => {
                let rules = vec![rule(&[], Deed::Shared(Vec::new()))];
                let (certificate, unresolved, services) = (None, None, BTreeSet::new());
                return Self { rules, certificate, admitted: Err(refused), unresolved, services };
            }
        };
        let Backends { shares, notes: without, unresolved, services } =
            Backends::of(route, rewrite.as_deref(), &forwarding, known);
        let [clear, secure] = PORTS.map(|port| [port]);
        let shared = Deed::Shared(shares);
        let rules = match &tls {
            None => vec![rule(&clear, shared)],
            Some((Insecure::Allow, _)) => vec![rule(&[], shared)],
            Some((Insecure::Redirect, _)) => vec![rule(&clear, Deed::Redirected(to_tls())), rule(&secure, shared)],
            Some((Insecure::None, _)) => vec![rule(&secure, shared)],
        };
        let admitted = Ok([notes, without].concat().join("; "));
        Self { rules, certificate: tls.map(|(_, secret)| secret), admitted, unresolved, services }
    }
}

impl Taken {
    /// Takes the room that a route of a namespace needs.
    pub(super) fn take(&mut self, route: &Served<'_>, namespace: &str) -> Result<(), Refused> {
        let full =
            |what: &str| (Reason::TooLarge, format!("the older routes of its namespace leave no room for its {what}"));
        let rules = self.rules + route.rules.len();
        if rules > limits::IMPORT_RULES {
            return Err(full("rules"));
        }
        let mut targets = BTreeSet::new();
        let mut bytes = self.bytes;
        for FrontRule { origin: _, host, matches, ports, deed, refused } in &route.rules {
            let actions = match deed {
                Deed::Shared(shares) => {
                    targets.extend(shares.iter().map(|one| target::name(&one.destination, &one.forwarding, namespace)));
                    let refuse = Refuse { weight: 1, reason: RefuseReason::NoBackend, status: *refused };
                    let none = shares.iter().all(|one| one.weight == 0).then_some(Action::Refuse(refuse));
                    let forward = |path: &Option<_>, weight| Forward { target: u32::MAX, weight, path: path.clone() };
                    shares.iter().map(|one| Action::Forward(forward(&one.path, one.weight))).chain(none).collect()
                }
                Deed::Redirected(redirect) => vec![Action::Redirect(redirect.clone())],
                Deed::Asked(..) => Vec::new(),
            };
            let rule = wire::Rule { host: host.clone(), ports: ports.clone(), matches: matches.clone(), actions };
            bytes += serde_json::to_string(&rule).map_or(0, |json| json.len() + 1);
        }
        let more = targets.difference(&self.targets);
        bytes += more.map(|name| name.len() + TARGET_BYTES).sum::<usize>();
        if bytes > BYTES {
            return Err(full("hosts and paths"));
        }
        self.targets.extend(targets);
        (self.rules, self.bytes) = (rules, bytes);
        Ok(())
    }
}

fn mk_rule<'s>(route: &OpenshiftRoute, host: &str, path: &str, ports: &[u16], deed: Deed<'s>) -> FrontRule<'s> {
    let origin = Origin {
        name: None,
        object: Arc::new(route.object()),
        group: OPENSHIFT_ROUTE.group,
        field: FieldPath::from("spec"),
    };
    let path = match path {
        "" => None,
        // By segment, but one that ends in `/` does not match what has none there.
        path if path.ends_with('/') => Some(PathMatch::RawPrefix(path.to_owned())),
        path => Some(PathMatch::Prefix(path.to_owned())),
    };
    FrontRule {
        origin,
        host: Some(host.to_owned()),
        matches: path.map(|path| wire::Match { path: Some(path), ..wire::Match::default() }).into_iter().collect(),
        ports: ports.to_vec(),
        deed,
        refused: RefuseStatus::ServiceUnavailable,
    }
}

fn to_tls() -> wire::Redirect {
    wire::Redirect {
        weight: 1,
        status: FOUND,
        scheme: Some(wire::Scheme::Https),
        hostname: None,
        port: None,
        path: None,
        headers: wire::HeaderModifier::default(),
    }
}
