//! A configuration for a plain Envoy: the same imports, listeners in place of Gateways, static clusters
//! in place of Services.
//!
//! Where Istio's defaults differ from Envoy's, they are Istio's: no timeout unless asked for, two
//! retries, paths normalised to RFC 3986 only.

mod cluster;
mod forwarding;
mod listener;
mod native;
mod steered;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::api::DataPlane;
use crate::json::put;
use crate::problem::Problem;
use crate::snapshot::{Key, Snapshot};
use crate::translate::{Destination, Import, Source, Steering, Translation};

use super::plugin::Plugin;

/// What the configuration depends on.
#[derive(Clone, Debug)]
pub struct EnvoyOptions {
    /// Who applies the rules of imports that do not say.
    pub data_plane: DataPlane,
    /// How requests name their targets; as the imports were translated.
    pub steering: Steering,
    /// The file of the filter's module, as Envoy will find it.
    pub module: PathBuf,
    /// What the listeners bind to.
    pub bind_address: IpAddr,
    /// Where Envoy's admin server listens; none: it has none.
    pub admin: Option<SocketAddr>,
}

/// Instructions of a compiled regular expression that Envoy takes. Its default of 100 is less than some have that
/// the filter admits, and one that it does not take makes it refuse the whole configuration.
const RE2_PROGRAM_SIZE: u32 = 1_000_000;

/// Everything that the parts are rendered from.
#[derive(Clone, Copy)]
struct Scene<'s> {
    snapshot: &'s Snapshot,
    translation: &'s Translation,
    plugin: &'s Plugin,
    options: &'s EnvoyOptions,
}

/// The Envoy clusters that routes name, by name.
type Clusters = BTreeMap<String, Value>;

/// Renders a configuration, and reports what it cannot say.
pub fn render(
    snapshot: &Snapshot,
    translation: &Translation,
    plugin: &Plugin,
    options: &EnvoyOptions,
) -> (Value, Vec<Problem>) {
    let scene = Scene { snapshot, translation, plugin, options };
    let mut problems = Vec::new();
    let mut clusters = Clusters::new();
    let ports: BTreeSet<u16> = translation.imports.iter().flat_map(|import| &import.ports).copied().collect();
    let listeners = ports.iter().map(|port| listener::render(scene, *port, &mut clusters, &mut problems));
    let listeners: Vec<_> = listeners.collect();
    let mut config = json!({
        "layered_runtime": {"layers": [{
            "name": "regular-expressions",
            "static_layer": {"re2": {"max_program_size": {"error_level": RE2_PROGRAM_SIZE}}},
        }]},
        "static_resources": {
            "listeners": listeners,
            "clusters": clusters.into_values().collect::<Vec<_>>(),
        },
    });
    if let Some(admin) = options.admin {
        put(&mut config, "admin", json!({"address": address(admin.ip(), admin.port())}));
    }
    (config, problems)
}

impl Scene<'_> {
    /// Who applies the rules of an import here.
    fn data_plane(self, import: &Import) -> DataPlane {
        import.data_plane.unwrap_or(self.options.data_plane)
    }
}

/// The name of the Envoy cluster of a destination, for requests that came by a port. The parts are DNS
/// labels, so that dots keep them apart.
fn cluster_name(import: &Import, destination: &Destination, port: u16) -> String {
    match reached(import, destination) {
        // That of its path, which is measured through it.
        Destination::Tier { name, cluster: Some(cluster) } => import.envoy_cluster(&name, &cluster).to_owned(),
        Destination::Tier { name, cluster: None } => format!("{}.{}.{name}", import.wire.name, import.wire.namespace),
        Destination::Import { namespace, name, tier, port: _ } => {
            format!("{}.{}.{name}.{namespace}.{tier}", import.wire.name, import.wire.namespace)
        }
        Destination::Service { namespace, name, port: own } => {
            format!("service.{namespace}.{name}.{}", own.unwrap_or(port))
        }
    }
}

/// A destination as requests reach it: this cluster's own share of a tier is the Service itself.
fn reached(import: &Import, destination: &Destination) -> Destination {
    let is_own = |source: &Source| source.is_own && destination.cluster() == Some(&*source.cluster);
    let tier = import.tier(destination).filter(|tier| tier.sources.iter().any(is_own));
    tier.map_or_else(
        || destination.clone(),
        |tier| {
            let Key { namespace, name } = &tier.import;
            Destination::Service { namespace: namespace.to_string(), name: name.to_string(), port: None }
        },
    )
}

/// The name of a virtual host, and the beginning of its routes' names.
fn import_name(import: &Import) -> String {
    format!("{}/{}", import.wire.namespace, import.wire.name)
}

fn address(ip: IpAddr, port: u16) -> Value {
    json!({"socket_address": {"address": ip.to_string(), "port_value": port}})
}
