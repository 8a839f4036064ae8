//! What is spoken with: cluster 1 exports two services, cluster 2 imports them.
//!
//! `desk` has a port for HTTP and one for gRPC, `line` one that mirrors bodies and one for WebSocket. The rules of `desk` are
//! given by routes.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use mcwan_testbed::kubelet::ECHO_IMAGE;
use mcwan_testbed::wan::{Count, TestWan, Traffic};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::objects::{mk_export, mk_file, mk_import, mk_namespace, mk_tier};
use crate::scene::{HIGH, LOW, Scene, mk_request};

pub(crate) const NAMESPACE: &str = "talk";

/// The ports of the services.
pub(crate) const DESK_HTTP: u16 = 8080;
pub(super) const DESK_GRPC: u16 = 9090;
pub(super) const LINE_MIRROR: u16 = 8080;
pub(super) const LINE_WEBSOCKET: u16 = 8081;

/// A method that the gRPC server of `desk` has.
pub(super) const CHECK: &str = "/grpc.health.v1.Health/Check";
/// What calls have that lead to a Service that is not there.
pub(super) const LOST: (&str, &str) = ("x-lost", "yes");

/// What asks for a WebSocket (RFC 6455, section 1.2).
const UPGRADE: [(&str, &str); 4] = [
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// The headers of a packet, what that which opens a connection has more of them, and more than what HTTP/2 says of
/// itself between requests.
const HEADERS: u64 = 52;
const OPENING: u64 = 8;
const FRAME: u64 = 30;

/// Where API servers listen: the controllers have business with the registry's at any time.
const API_SERVER: u16 = 6443;

/// Applies everything, and waits until every port answers something that no gateway says by itself.
pub(super) async fn set_up(scene: &Scene) -> Result<()> {
    apply(&scene.wan).await?;
    for (service, port, path, headers) in [
        ("desk", DESK_HTTP, "/low", &[][..]),
        ("desk", DESK_GRPC, CHECK, &[]),
        ("line", LINE_MIRROR, "/low", &[]),
        ("line", LINE_WEBSOCKET, "/low", &UPGRADE),
    ] {
        let mut request = mk_request("GET", &format!("{service}.{NAMESPACE}:{port}"), path);
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        request.headers = headers.collect();
        let is_meant = |status| !matches!(status, 403 | 404 | 500..);
        scene.until_answered(&format!("{NAMESPACE}/{service}"), port, &request, is_meant).await?;
    }
    Ok(())
}

/// The egress gateway, on the port of a service.
pub(super) async fn gateway(scene: &Scene, service: &str, port: u16) -> Result<SocketAddr> {
    scene.gateway(&format!("{NAMESPACE}/{service}"), port).await
}

/// A connection to it.
pub(super) async fn connect(scene: &Scene, service: &str, port: u16) -> Result<TcpStream> {
    scene.client.connect(gateway(scene, service, port).await?).await
}

/// On which ports the second cluster said something since an earlier count; packets without words, such as
/// acknowledgements that come late, do not matter.
fn spoken(wan: &TestWan, before: &Traffic) -> Vec<u16> {
    let ports = wan.traffic().since(before).ports(2, 1).into_iter();
    let has_words = |count: &Count| count.bytes > HEADERS * count.packets + OPENING * count.connections + FRAME;
    ports.filter(|(port, count)| *port != API_SERVER && has_words(count)).map(|(port, _)| port).collect()
}

/// Whatever was said since an earlier count was said on this tier's port.
pub(crate) fn ensure_spoken(wan: &TestWan, before: &Traffic, expected: Option<u16>, what: &str) -> Result<()> {
    let spoken = spoken(wan, before);
    ensure!(spoken.iter().eq(&expected), "{what} was said on {spoken:?}, not on {expected:?}");
    Ok(())
}

async fn apply(wan: &TestWan) -> Result<()> {
    let shared = [mk_namespace(NAMESPACE), mk_tier(HIGH.0, HIGH.1), mk_tier(LOW.0, LOW.1)];
    wan.apply_everywhere(&mk_file(&shared)).await?;
    wan.cluster(1).apply(&mk_file(&mk_desk())).await?;
    let exported = [
        mk_pods(
            "line",
            &json!([
                {"containerPort": 9080, "name": "mirror"},
                {"containerPort": 9081, "name": "websocket"},
            ]),
        ),
        mk_ports(
            "line",
            &json!([
                {"name": "http", "port": LINE_MIRROR, "targetPort": 9080},
                {"name": "websocket", "port": LINE_WEBSOCKET, "targetPort": 9081},
            ]),
        ),
        mk_export(NAMESPACE, "desk", LOW.0),
        mk_export(NAMESPACE, "line", LOW.0),
    ];
    wan.cluster(1).apply(&mk_file(&exported)).await?;
    let rule = |prefix: &str, tier: &str| {
        json!({"matches": [{"path": {"type": "PathPrefix", "value": prefix}}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    let to_desk = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "desk", "port": DESK_HTTP});
    let to_desk = json!({"matches": [{"path": {"type": "PathPrefix", "value": "/desk"}}], "backendRefs": [to_desk]});
    let line = json!([rule("/upgrade", HIGH.0), rule("/high", HIGH.0), rule("/low", LOW.0), to_desk]);
    let call = |method: Value, tier: &str| {
        json!({"matches": [{"method": method}],
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    // Two methods of one service, one of them by its name alone.
    let calls = json!([
        call(json!({"service": "grpc.health.v1.Health", "method": "Check"}), HIGH.0),
        call(json!({"method": "Watch"}), LOW.0),
        call(json!({"service": "grpc.reflection.v1.ServerReflection"}), LOW.0),
    ]);
    let waiting = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
        "metadata": {"namespace": NAMESPACE, "name": "desk"}, "spec": {"http": {"noMatch": {"status": 403}}}});
    let rules = [
        waiting,
        mk_desk_route("HTTPRoute", "desk", None, &json!([rule("/high", HIGH.0), rule("/low", LOW.0)])),
        mk_desk_route("GRPCRoute", "desk", Some("grpc"), &calls),
        mk_import(NAMESPACE, "line", &line),
    ];
    wan.cluster(2).apply(&mk_file(&rules)).await
}

/// A route of a kind that gives `desk` rules, on one of its ports or on all.
fn mk_desk_route(kind: &str, name: &str, port: Option<&str>, rules: &Value) -> Value {
    let mut parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "desk"});
    if let Some(port) = port {
        parent["sectionName"] = port.into();
    }
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
        "metadata": {"namespace": NAMESPACE, "name": name}, "spec": {"parentRefs": [parent], "rules": rules}})
}

/// A route for calls that lead to a Service that is not there.
pub(super) fn mk_lost() -> Value {
    let (name, value) = LOST;
    let lost = json!({
        "matches": [{"method": {"service": "grpc.health.v1.Health", "method": "Check"},
            "headers": [{"name": name, "value": value}]}],
        "backendRefs": [{"name": "lost", "port": 80}],
    });
    mk_desk_route("GRPCRoute", "lost", Some("grpc"), &json!([lost]))
}

/// The service `desk` and its pods.
pub(crate) fn mk_desk() -> [Value; 2] {
    let ports = json!([
        {"name": "http", "port": DESK_HTTP, "targetPort": 9080},
        {"name": "grpc", "port": DESK_GRPC, "targetPort": 9090, "appProtocol": "grpc"},
    ]);
    let listening = json!([{"containerPort": 9080}, {"containerPort": 9090, "name": "grpc"}]);
    [mk_pods("desk", &listening), mk_ports("desk", &ports)]
}

/// Two pods that listen on these ports.
fn mk_pods(name: &str, ports: &Value) -> Value {
    let container = json!({"name": "upstream", "image": ECHO_IMAGE, "ports": ports});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}})
}

/// A Service with these ports.
fn mk_ports(name: &str, ports: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {"selector": {"app": name}, "ports": ports}})
}
