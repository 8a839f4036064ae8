//! A listener per service port, as the egress Gateway has them.

use serde_json::{Value, json};

use crate::api::DataPlane;
use crate::problem::{Problem, Reason};

use super::{Clusters, Scene, address, native, steered};

/// What a line of the access log tells: the route's name holds import and target.
const ACCESS_LOG: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %REQ(:AUTHORITY)% \
    %RESPONSE_CODE% %RESPONSE_CODE_DETAILS% route=%ROUTE_NAME% cluster=%UPSTREAM_CLUSTER% upstream=%UPSTREAM_HOST%\n";

pub(super) fn render(scene: Scene<'_>, port: u16, clusters: &mut Clusters, problems: &mut Vec<Problem>) -> Value {
    let imports = scene.translation.imports.iter().enumerate().filter(|(_, import)| import.ports.contains(&port));
    let steers = imports.clone().any(|(_, import)| scene.data_plane(import) == DataPlane::Wasm);
    let mut virtual_hosts = Vec::new();
    for (index, import) in imports {
        virtual_hosts.extend(match scene.data_plane(import) {
            DataPlane::Wasm => Some(steered::virtual_host(scene, import, port, clusters, problems)),
            DataPlane::Native if steers => {
                let message = format!("the filter on port {port} is in front of native routes, too: refused there");
                let problem = Problem::error(import.object.clone(), Reason::DataPlaneConflict, message);
                problems
                    .push(problem.at(import.fields.data_plane).hint("render native imports for an Envoy of their own"));
                None
            }
            DataPlane::Native => native::virtual_host(scene, index, import, port, clusters, problems),
        });
    }
    let mut http_filters = Vec::new();
    if steers {
        http_filters.push(filter(scene));
    }
    http_filters.push(json!({
        "name": "envoy.filters.http.cors",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors"},
    }));
    http_filters.push(json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
    }));
    let name = format!("egress-{port}");
    json!({
        "name": name,
        "address": address(scene.options.bind_address, port),
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": name,
                "access_log": [{
                    "name": "envoy.access_loggers.stdout",
                    "typed_config": {
                        "@type": "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
                        "log_format": {"text_format_source": {"inline_string": ACCESS_LOG}},
                    },
                }],
                // Nobody's `x-envoy-*` headers are believed: they could change timeouts and retries. Nobody
                // has this address; no address at all would mean every private one.
                "use_remote_address": true,
                "internal_address_config": {"cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]},
                "normalize_path": true,
                "strip_any_host_port": true,
                "strip_trailing_host_dot": true,
                "stream_idle_timeout": "0s",
                "upgrade_configs": [{"upgrade_type": "websocket"}],
                "http_filters": http_filters,
                "route_config": {
                    "name": name,
                    "ignore_port_in_host_matching": true,
                    "virtual_hosts": virtual_hosts,
                },
            },
        }]}],
    })
}

/// The filter, which refuses everything if it cannot run.
fn filter(scene: Scene<'_>) -> Value {
    json!({
        "name": "mcwan",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": "mcwan",
                "failure_policy": "FAIL_CLOSED",
                "vm_config": {
                    "vm_id": "mcwan",
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": scene.options.module}},
                },
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": scene.plugin.json,
                },
            },
        },
    })
}
