//! How requests of other clusters enter an exporting namespace, and whose.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::json::put;
use crate::kind;
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::Key;
use crate::translate::Admitted;

use super::draft::Draft;
use super::{FilterKind, Settings, gateway, names};

/// The ingress gateway of an exporting namespace with a listener per tier, and who may not use it: everybody but
/// those that are `admitted`, egress gateways of the same namespace in the registry's clusters.
pub fn ingress_objects<'t>(
    namespace: &str,
    tiers: impl IntoIterator<Item = (&'t str, u16)>,
    admitted: &Admitted,
    settings: &Settings,
) -> (Vec<Object>, Vec<Problem>) {
    let (mut listeners, mut problems) = (BTreeSet::new(), Vec::new());
    for (tier, port) in tiers {
        if mcwan_policy::is_reserved_port(port) {
            let message = format!("port {port} is the gateway's own: nothing can be received on it");
            let problem = Problem::error(ObjectRef::cluster("WANPolicy", tier), Reason::PortConflict, message);
            problems.push(problem.at("spec.port"));
        } else {
            listeners.insert(port);
        }
    }
    if listeners.is_empty() {
        return (Vec::new(), problems);
    }
    let mut objects = vec![admission(namespace, admitted)];
    objects.extend(gateway::objects(namespace, names::INGRESS_GATEWAY, &listeners, &BTreeMap::new(), settings));
    (objects, problems)
}

/// What must be there before an object and go after it: without its admission, an ingress gateway is open to all, and an
/// egress gateway never runs without its filter.
pub fn guard_of(id: &ObjectId, filter: FilterKind) -> Option<ObjectId> {
    if id.kind != Kind::Gateway {
        return None;
    }
    match &*id.key.name {
        names::INGRESS_GATEWAY => Some(ObjectId { kind: Kind::AuthorizationPolicy, key: id.key.clone() }),
        names::EGRESS_GATEWAY => Some(filter.object_id(&id.key.namespace)),
        _ => None,
    }
}

/// What an object guards.
pub fn guarded_by(id: &ObjectId, filter: FilterKind) -> Option<ObjectId> {
    let gateways = [names::INGRESS_GATEWAY, names::EGRESS_GATEWAY];
    let key = |name: &str| Key::new(Arc::clone(&id.key.namespace), name);
    let mut gateways = gateways.map(|name| ObjectId { kind: Kind::Gateway, key: key(name) }).into_iter();
    gateways.find(|gateway| guard_of(gateway, filter).as_ref() == Some(id))
}

/// It denies, as policies that allow only add up: one of a user's own could open it. A rule is for all ports, so that none is
/// open before it is known, and one for each port that fewer may use.
fn admission(namespace: &str, Admitted { anywhere, fewer }: &Admitted) -> Object {
    let fewer = fewer.iter().map(|(port, addresses)| denial(addresses, Some(*port)));
    let rules: Vec<_> = std::iter::once(denial(anywhere, None)).chain(fewer).collect();
    Draft::new(Kind::AuthorizationPolicy, namespace, names::INGRESS_GATEWAY).with(json!({
        "spec": {
            "targetRefs": [kind::GATEWAY.reference(names::INGRESS_GATEWAY)],
            "action": "DENY",
            "rules": rules,
        },
    }))
}

/// Denies everybody but these, on a port or on any. A rule without a source denies everybody; a list of no addresses would
/// deny nobody.
fn denial(admitted: &BTreeSet<IpAddr>, port: Option<u16>) -> Value {
    let mut rule = json!({});
    if !admitted.is_empty() {
        put(&mut rule, "from", json!([{"source": {"notIpBlocks": admitted}}]));
    }
    if let Some(port) = port {
        put(&mut rule, "to", json!([{"operation": {"ports": [port.to_string()]}}]));
    }
    rule
}
