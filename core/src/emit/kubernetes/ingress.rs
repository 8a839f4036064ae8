//! How requests of other clusters enter an exporting namespace, and whose.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

use super::draft::Draft;
use super::{Settings, gateway, names};

/// The ingress gateway of an exporting namespace with a listener per tier, and who may not use it: everybody but
/// `admitted`, the egress gateways of the same namespace in the registry's clusters.
pub fn ingress_objects<'t>(
    namespace: &str,
    tiers: impl IntoIterator<Item = (&'t str, u16)>,
    admitted: &[IpAddr],
    settings: &Settings,
) -> (Vec<Object>, Vec<Problem>) {
    let (mut listeners, mut problems) = (BTreeSet::new(), Vec::new());
    for (tier, port) in tiers {
        if gateway::is_reserved(port) {
            let message = format!("port {port} is the gateway's own: nothing can be received on it");
            let problem = Problem::error(ObjectRef::cluster("WANPolicy", tier), Reason::PortConflict, message);
            problems.push(problem.at(FieldPath::spec("port")));
        } else {
            listeners.insert(port);
        }
    }
    if listeners.is_empty() {
        return (Vec::new(), problems);
    }
    let mut objects = vec![admission(namespace, admitted)];
    objects.extend(gateway::objects(namespace, names::INGRESS_GATEWAY, &listeners, settings));
    (objects, problems)
}

/// What must be there before an object and go after it: without its admission, an ingress gateway is open to all.
pub fn guard_of(id: &ObjectId) -> Option<ObjectId> {
    let is_ingress = id.kind == Kind::Gateway && *id.key.name == *names::INGRESS_GATEWAY;
    is_ingress.then(|| ObjectId { kind: Kind::AuthorizationPolicy, key: id.key.clone() })
}

/// What an object guards.
pub fn guarded_by(id: &ObjectId) -> Option<ObjectId> {
    let gateway = ObjectId { kind: Kind::Gateway, key: id.key.clone() };
    (guard_of(&gateway).as_ref() == Some(id)).then_some(gateway)
}

/// It denies, as policies that allow only add up: one of a user's own could open it. A rule without a source denies
/// everybody; a list of no addresses would deny nobody.
fn admission(namespace: &str, admitted: &[IpAddr]) -> Object {
    let admitted: BTreeSet<String> = admitted.iter().map(IpAddr::to_string).collect();
    let rule = if admitted.is_empty() {
        Value::Object(serde_json::Map::new())
    } else {
        json!({"from": [{"source": {"notIpBlocks": admitted}}]})
    };
    Draft::new(Kind::AuthorizationPolicy, namespace, names::INGRESS_GATEWAY).with(json!({
        "spec": {
            "targetRefs": [{
                "group": "gateway.networking.k8s.io",
                "kind": "Gateway",
                "name": names::INGRESS_GATEWAY,
            }],
            "action": "DENY",
            "rules": [rule],
        },
    }))
}
