//! What one import consists of, beside what it shares with the others of its namespace.

use serde_json::json;

use crate::api::DataPlane;
use crate::emit::object::{Kind, Object};
use crate::problem::{Problem, Reason};
use crate::translate::Import;
use crate::translate::gateway_pods::GATEWAY_LABEL;

use super::draft::Draft;
use super::live_rules::LiveRules;
use super::{Settings, gateway, names, route, tier};

/// The objects of an import: its tier services, what clients call it by, and the routes behind the filter.
///
/// `live` are the rules of its live `HTTPRoute`s: each stays where it stands, and those stay behind its own that are for
/// targets that it has no more. The routes of a native import are not here, but in
/// [`egress_objects`](super::egress_objects): what they match depends on the hosts that older imports have.
pub fn import_objects(import: &Import, settings: &Settings, live: &LiveRules) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    tier::objects(import, live, &mut objects, &mut problems);
    if !import.ports.is_empty() {
        objects.push(clusterset_service(import, settings, &mut problems));
        if settings.data_plane(import) == DataPlane::Wasm {
            route::steered(import, live, &mut objects, &mut problems);
        }
    }
    (objects, problems)
}

/// What gives clients a name and an address for the egress gateway.
fn clusterset_service(import: &Import, settings: &Settings, problems: &mut Vec<Problem>) -> Object {
    let name = names::clusterset_service(&import.wire.name);
    if name.len() - "-clusterset".len() != import.wire.name.len() {
        let host = format!("{name}.{}.svc.cluster.local", import.wire.namespace);
        let message = format!("its name is too long for a Service NAME-clusterset: the Service is called {name}");
        let problem = Problem::warning(import.object.clone(), Reason::NameTooLong, message);
        problems.push(problem.hint(format!("clients that call it need {host} in `{}`", import.fields.hostnames)));
    }
    let ports: Vec<_> = gateway::served_ports(import, problems).collect();
    let port = |(port, listener): (u16, u16)| json!({"name": names::listener(port), "protocol": "TCP", "port": port, "targetPort": listener});
    let draft = Draft::new(Kind::Service, &import.wire.namespace, name)
        .of_import(&import.wire.namespace, &import.wire.name)
        .owned_by(import.owner.as_ref());
    draft.with(json!({
        "spec": {
            "type": "ClusterIP",
            "selector": {GATEWAY_LABEL: settings.egress_gateway(import)},
            "ports": ports.into_iter().map(port).collect::<Vec<_>>(),
        },
    }))
}
