//! What the imports of one namespace share: the gateways that requests leave through.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::wire::UnknownHosts;

use crate::api::DataPlane;
use crate::emit::object::{Kind, Object};
use crate::emit::plugin::Plugin;
use crate::problem::Problem;
use crate::translate::{Import, SteeringKey};

use super::recovered::RecoveredRule;
use super::{Settings, filter, gateway, names, native, route};

/// An import as its gateway needs it.
#[derive(Clone, Debug)]
pub struct EgressImport<'v> {
    /// The import as it is wanted.
    pub wanted: &'v Import,
    /// Every version that gateways may serve.
    pub versions: Vec<&'v Import>,
    /// What one who took over has found of it.
    pub recovered: &'v [RecoveredRule],
}

/// The gateways of an importing namespace, with a listener for every port of every version of its imports, and what is
/// wrong. The oldest import comes first. Certificates are those that are wanted: one that may be shown no more goes at once.
pub fn egress_gateways(
    namespace: &str,
    wasm: &[EgressImport<'_>],
    native: &[EgressImport<'_>],
    settings: &Settings,
) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems, mut gateways) = (Vec::new(), Vec::new(), Vec::new());
    let [of_wasm, of_native] = [wasm, native].map(|imports| {
        let ports = imports.iter().map(|import| (import.wanted, route::ports(&import.versions, import.recovered)));
        gateway::listeners(ports, &mut problems)
    });
    let certificates = gateway::certificates(wasm.iter().map(|import| import.wanted), &of_wasm, &mut problems);
    let none = BTreeMap::new();
    let all = [(names::EGRESS_GATEWAY, of_wasm, &certificates), (names::NATIVE_EGRESS_GATEWAY, of_native, &none)];
    for (gateway, listeners, certificates) in all {
        if !listeners.is_empty() {
            gateways.push(gateway);
            objects.extend(gateway::objects(namespace, gateway, &listeners, certificates, settings));
        }
    }
    objects.extend(settings.access_log.object(namespace, &gateways));
    (objects, problems)
}

/// Everything that the imports of a namespace share, where none has ever been otherwise; and what is wrong.
pub fn egress_objects(
    namespace: &str,
    imports: &[&Import],
    settings: &Settings,
    key: &SteeringKey,
) -> (Vec<Object>, Vec<Problem>) {
    let of = |data_plane| imports.iter().copied().filter(move |import| settings.data_plane(import) == data_plane);
    let (wasm, native) = (of(DataPlane::Wasm).collect::<Vec<_>>(), of(DataPlane::Native).collect::<Vec<_>>());
    let [of_wasm, of_native] = [&wasm, &native].map(|imports| {
        let alone =
            imports.iter().map(|import| EgressImport { wanted: import, versions: vec![import], recovered: &[] });
        alone.collect::<Vec<_>>()
    });
    let (mut objects, mut problems) = egress_gateways(namespace, &of_wasm, &of_native, settings);
    if objects.iter().any(|object| *object.id.key.name == *names::EGRESS_GATEWAY && object.id.kind == Kind::Gateway) {
        let filter = filter::filter_object(namespace, &wasm, settings, key, None);
        problems.extend(filter.problems);
        objects.extend(filter.object);
    }
    let (routes, found) = native_objects(&native, |_| true);
    objects.extend(routes);
    problems.extend(found);
    (objects, problems)
}

/// The routes of those native imports of a namespace that are ready: of two imports that claim a host, the older has it, ready
/// or not. The oldest import comes first.
pub fn native_objects(imports: &[&Import], is_ready: impl Fn(&Import) -> bool) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    if imports.iter().any(|import| gateway::served_ports(import, &mut Vec::new()).next().is_some()) {
        native_routes(imports, is_ready, &mut objects, &mut problems);
    }
    (objects, problems)
}

fn native_routes(
    imports: &[&Import],
    is_ready: impl Fn(&Import) -> bool,
    objects: &mut Vec<Object>,
    problems: &mut Vec<Problem>,
) {
    // Who has which host is what the filter would say, and so is what it would refuse as a whole.
    let plugin = match Plugin::new(imports, UnknownHosts::Pass) {
        Ok(plugin) => plugin,
        Err(error) => {
            problems.extend(error.problems(imports));
            return;
        }
    };
    problems.extend(plugin.problems(imports));
    for (index, import) in imports.iter().enumerate().filter(|(_, import)| is_ready(import)) {
        let claims = plugin.table.claims(index).into_iter();
        // A set, as an import may name a host twice.
        let mut hosts: BTreeSet<_> =
            claims.filter(|claim| claim.owner == Some(index)).map(|claim| claim.host).collect();
        // An HTTPRoute names no addresses (Gateway API, `Hostname`).
        let addresses: BTreeSet<_> = import.address_hosts().collect();
        hosts.retain(|host| !addresses.contains(host));
        if !hosts.is_empty() {
            let errors = plugin.errors(index, import);
            native::routes(import, errors, &hosts.into_iter().collect::<Vec<_>>(), objects, problems);
        }
    }
}
