//! The routes behind the filter: one for each target, and none for a request that the filter did not
//! steer.

use mcwan_policy::STEERING_HEADER;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::translate::{Import, Steering, Target};

use super::forwarding::{self, Route};
use super::{Clusters, Scene, cluster, cluster_name, import_name};

pub(super) fn virtual_host(
    scene: Scene<'_>,
    import: &Import,
    port: u16,
    clusters: &mut Clusters,
    problems: &mut Vec<Problem>,
) -> Value {
    let routes = match scene.options.steering {
        Steering::RouteHeader => {
            let routes = import.targets.iter().map(|target| {
                let name = cluster_name(import, &target.destination, port);
                cluster::add(scene, import, &target.destination, port, name, clusters, problems);
                by_target(scene, import, target, port, clusters, problems)
            });
            routes.collect()
        }
        Steering::ClusterHeader => {
            for target in &import.targets {
                let name = target.steering_value();
                cluster::add(scene, import, &target.destination, port, name, clusters, problems);
            }
            vec![by_cluster(import, port)]
        }
    };
    let domain = if import.is_service() { import.canonical_host() } else { "*".to_owned() };
    json!({"name": import_name(import), "domains": [domain], "routes": routes})
}

/// The route that takes what the filter steered to a target.
fn by_target(
    scene: Scene<'_>,
    import: &Import,
    target: &Target,
    port: u16,
    clusters: &mut Clusters,
    problems: &mut Vec<Problem>,
) -> Value {
    let route = Route {
        name: format!("{}/{}", import_name(import), target.name),
        matcher: json!({
            "prefix": "/",
            "headers": [{"name": STEERING_HEADER, "string_match": {"exact": target.steering_value()}}],
        }),
        port: target.destination.told_port(port),
        canonical_host: None,
    };
    let mirrors = forwarding::mirrors(scene, import, &target.forwarding, port, clusters, problems);
    let cluster = cluster_name(import, &target.destination, port);
    forwarding::route(&route, &[(cluster, 1, &target.forwarding)], &mirrors, None)
}

/// The one route of an import that takes the Envoy cluster from the steering header.
fn by_cluster(import: &Import, port: u16) -> Value {
    let route = Route {
        name: import_name(import),
        matcher: json!({"prefix": "/", "headers": [{"name": STEERING_HEADER, "present_match": true}]}),
        port,
        canonical_host: None,
    };
    let action = json!({
        "cluster_header": STEERING_HEADER,
        "cluster_not_found_response_code": "NOT_FOUND",
        "timeout": "0s",
        "retry_policy": forwarding::retry_policy(None),
    });
    forwarding::with_own_headers(&route, &action)
}
