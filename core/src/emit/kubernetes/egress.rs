//! What the imports of one namespace share: the gateways that requests leave through.

use std::collections::BTreeSet;

use mcwan_policy::wire::UnknownHosts;

use crate::api::DataPlane;
use crate::emit::object::Object;
use crate::emit::plugin::Plugin;
use crate::problem::{Problem, Reason};
use crate::translate::Import;

use super::filter::{self, Shipped};
use super::{Settings, gateway, names, native};

/// The egress of an importing namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EgressNamespace {
    /// Its objects; none where it has no import with a port.
    pub objects: Vec<Object>,
    /// What is wrong with its imports: each names the one that it is about.
    pub problems: Vec<Problem>,
    /// The configuration of its filter; none: it has none.
    pub shipped: Option<Shipped>,
}

/// The gateways of an importing namespace, the filter with its rules, and the routes of its native imports: of two
/// imports that claim a host, the older has it. The oldest import comes first.
pub fn egress_objects(namespace: &str, imports: &[&Import], settings: &Settings) -> EgressNamespace {
    let of = |data_plane| imports.iter().copied().filter(move |import| settings.data_plane(import) == data_plane);
    let (wasm, native) = (of(DataPlane::Wasm).collect::<Vec<_>>(), of(DataPlane::Native).collect::<Vec<_>>());
    let mut egress = EgressNamespace::default();
    let EgressNamespace { objects, problems, shipped } = &mut egress;
    let mut gateways = Vec::new();
    let listeners = gateway::listeners(wasm.iter().copied(), problems);
    if !listeners.is_empty()
        && let Some((plugin, revision)) = filter::object(namespace, &wasm, settings, problems)
    {
        objects.push(plugin);
        gateways.push(names::EGRESS_GATEWAY);
        objects.extend(gateway::objects(namespace, names::EGRESS_GATEWAY, &listeners, settings));
        *shipped = Some(revision);
    }
    let listeners = gateway::listeners(native.iter().copied(), problems);
    if !listeners.is_empty() {
        gateways.push(names::NATIVE_EGRESS_GATEWAY);
        objects.extend(gateway::objects(namespace, names::NATIVE_EGRESS_GATEWAY, &listeners, settings));
        native_routes(&native, objects, problems);
    }
    objects.extend(settings.access_log.object(namespace, &gateways));
    egress
}

fn native_routes(imports: &[&Import], objects: &mut Vec<Object>, problems: &mut Vec<Problem>) {
    // Who has which host is what the filter would say, and so is what it would refuse as a whole.
    let plugin = match Plugin::new(imports, UnknownHosts::Pass) {
        Ok(plugin) => plugin,
        Err(error) => {
            let all =
                imports.iter().map(|import| Problem::error(import.object.clone(), Reason::TooLarge, error.to_string()));
            problems.extend(all);
            return;
        }
    };
    problems.extend(plugin.host_conflicts(imports));
    for (index, import) in imports.iter().enumerate() {
        let claims = plugin.table.claims(index).into_iter();
        // A set, as an import may name a host twice.
        let hosts: BTreeSet<_> = claims.filter(|claim| claim.owner == Some(index)).map(|claim| claim.host).collect();
        if !hosts.is_empty() {
            native::routes(import, &hosts.into_iter().collect::<Vec<_>>(), objects, problems);
        }
    }
}
