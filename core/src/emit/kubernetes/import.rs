//! What one import consists of, beside what it shares with the others of its namespace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::api::{DataPlane, ExportedPort, Protocol, SessionAffinity};
use crate::emit::object::{Kind, Object};
use crate::json::{put, put_at};
use crate::problem::{Problem, Reason};
use crate::snapshot::Key;
use crate::translate::gateway_pods::GATEWAY_LABEL;
use crate::translate::{Clusterset, DirectPort, Import};

use super::draft::Draft;
use super::recovered::{Places, Recovered};
use super::route;
use super::{Settings, gateway, names, tier};

/// What a Service without an address has in place of one (Kubernetes, `ServiceSpec.clusterIP`).
pub const NO_ADDRESS: &str = "None";

/// The versions of an import that its objects are for. In each list the newest comes first, and of what two versions say of
/// one thing the newest holds.
#[derive(Clone, Debug, Default)]
pub struct ImportVersions<'v> {
    /// Those whose tier services are there.
    pub backing: Vec<&'v Import>,
    /// Those of which every target has a route.
    pub routed: Vec<&'v Import>,
    /// What one who took over has found.
    pub recovered: Option<&'v Recovered>,
    /// The ports that clients may use.
    pub client_ports: BTreeSet<u16>,
}

/// The objects of an import. What routes lead to comes before them, what leads clients there after them.
#[derive(Clone, Debug, Default)]
pub struct ImportObjects {
    /// Its tier services, and what admits its routes to them.
    pub backing: Vec<Object>,
    /// The routes behind the filter; none of a native import, which are among what its namespace shares: what they match
    /// depends on the hosts that older imports have.
    pub routes: Vec<Object>,
    /// What clients call it by.
    pub client: Option<Object>,
    /// What cannot be honoured.
    pub problems: Vec<Problem>,
}

impl<'v> ImportVersions<'v> {
    /// Of an import that has never been otherwise.
    pub fn of(import: &'v Import) -> Self {
        let client_ports = import.ports.iter().copied().collect();
        Self { backing: vec![import], routed: vec![import], recovered: None, client_ports }
    }

    /// The objects, and where rules stand from now on.
    pub fn objects(&self, settings: &Settings, places: &mut Places) -> ImportObjects {
        let mut problems = Vec::new();
        let none = Recovered::default();
        let recovered = self.recovered.unwrap_or(&none);
        let backing = tier::objects(&self.backing, recovered, &mut problems);
        let is_steered = |import: &&Import| settings.data_plane(import) == DataPlane::Wasm;
        let steered: Vec<_> = self.routed.iter().copied().filter(is_steered).collect();
        let newest = self.backing.first();
        let routes = newest
            .map_or_else(Vec::new, |newest| route::steered(newest, &steered, &recovered.rules, places, &mut problems));
        let client = newest.and_then(|newest| self.client(newest, settings, &mut problems));
        ImportObjects { backing, routes, client, problems }
    }

    /// What gives clients a name and an address for the egress gateway.
    fn client(&self, newest: &Import, settings: &Settings, problems: &mut Vec<Problem>) -> Option<Object> {
        let Key { namespace, name: import } = &newest.key;
        let name = names::clusterset_service(import);
        if newest.is_service() && name.len() - "-clusterset".len() != import.len() {
            let host = format!("{name}.{namespace}.svc.cluster.local");
            let message = format!("its name is too long for a Service NAME-clusterset: the Service is called {name}");
            let problem = Problem::warning(newest.object.clone(), Reason::NameTooLong, message);
            problems.push(problem.hint(format!("clients that call it need {host} in `{}`", newest.fields.hostnames)));
        }
        // What is wrong with ports of the newest version is told once, and of older ones not at all.
        let mut ports: BTreeMap<u16, u16> = BTreeMap::new();
        for (age, version) in self.backing.iter().enumerate() {
            let mut old = Vec::new();
            let problems = if age == 0 { &mut *problems } else { &mut old };
            ports.extend(gateway::served_ports(version, problems));
        }
        ports.retain(|port, _| self.client_ports.contains(port));
        if !newest.ports.is_empty() && self.client_ports.is_empty() {
            // It is not known what gateways serve: one with the other ports alone would take those of HTTP from clients.
            return None;
        }
        let http = |(port, listener): (u16, u16)| {
            let name = if gateway::is_secure(newest, port) { "https".to_owned() } else { names::listener(port) };
            json!({"name": name, "protocol": "TCP", "port": port, "targetPort": listener})
        };
        // What was HTTP until now stays so until no gateway has it any more.
        let is_free = |direct: &&DirectPort| {
            direct.port.protocol != Protocol::Tcp || !ports.contains_key(&direct.port.port.get())
        };
        let direct: Vec<_> = newest.direct.iter().filter(is_free).map(direct_port).collect();
        let ports: Vec<_> = ports.into_iter().map(http).chain(direct).collect();
        if ports.is_empty() {
            return None;
        }
        let draft = Draft::new(Kind::Service, namespace, name).of_import(&newest.key);
        let mut service = draft.with(json!({
            "spec": {
                "type": "ClusterIP",
                "selector": {GATEWAY_LABEL: settings.egress_gateway(newest)},
                "ports": ports,
            },
        }));
        if newest.clusterset.as_ref().is_some_and(Clusterset::is_headless) {
            put_at(&mut service.body, &["spec", "clusterIP"], NO_ADDRESS);
        } else if let Some(address) = newest.addresses.first() {
            // One that is made again has the address that clients know.
            put_at(&mut service.body, &["spec", "clusterIP"], address.to_string());
        }
        if let Some(clusterset) = newest.clusterset.as_ref().filter(|_| !newest.direct.is_empty()) {
            put_affinity(&mut service, clusterset);
        }
        Some(service)
    }
}

/// For how long connections keep to a pod where nothing is said (Kubernetes, `ClientIPConfig.timeoutSeconds`).
const AFFINITY_SECONDS: u32 = 10_800;

/// The name of a port that no pod of a gateway has.
const DIRECT: &str = "mcwan-direct";

/// A port that does not lead to the gateway that the Service selects: its pods have no port of that name, so Kubernetes leaves
/// it out of their slices, and slices of ours have it.
fn direct_port(direct: &DirectPort) -> Value {
    let ExportedPort { name: _, port, protocol, app_protocol } = &direct.port;
    let mut content = json!({"name": direct.name(), "protocol": protocol.name(), "port": port, "targetPort": DIRECT});
    if let Some(protocol) = app_protocol {
        put(&mut content, "appProtocol", protocol.as_str());
    }
    content
}

/// Connections to pods keep to one of them where the oldest export says so. Of two gateways neither keeps to one.
fn put_affinity(service: &mut Object, clusterset: &Clusterset) {
    let properties = &clusterset.properties;
    if properties.session_affinity == SessionAffinity::ClientIp {
        put_at(&mut service.body, &["spec", "sessionAffinity"], "ClientIP");
        let seconds = properties.session_affinity_seconds.unwrap_or(AFFINITY_SECONDS);
        put_at(&mut service.body, &["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"], seconds);
    }
}

impl ImportObjects {
    /// All of them, in the order of their creation.
    pub fn into_all(self) -> (Vec<Object>, Vec<Problem>) {
        (self.backing.into_iter().chain(self.routes).chain(self.client).collect(), self.problems)
    }
}

/// The names of the tier services of an import.
pub fn tier_services(import: &Import) -> BTreeSet<String> {
    tier::services(import)
}
