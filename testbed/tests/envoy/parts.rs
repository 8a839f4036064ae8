//! The parts of the testbed by themselves.

use std::net::SocketAddr;
use std::time::Duration;

use mcwan_testbed::client::{self, Request};
use mcwan_testbed::echo::Echo;
use mcwan_testbed::envoy::Envoy;
use mcwan_testbed::latin1;
use mcwan_testbed::loopback::Loopback;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

fn get(host: &str, path: &str) -> Request {
    Request { method: "GET".to_owned(), host: Some(host.into()), path: path.to_owned(), headers: Vec::new() }
}

/// An Envoy that forwards everything from one port to another one of the same address.
fn forward(address: std::net::Ipv4Addr, from: u16, to: u16) -> Value {
    let cluster = json!({"name": "upstream", "connect_timeout": "1s", "load_assignment": {
        "cluster_name": "upstream",
        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {
            "socket_address": {"address": address, "port_value": to}}}}]}]}});
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "test",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "upstream"}}]}]},
        "http_filters": [{"name": "router", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]});
    json!({"static_resources": {
        "listeners": [{"address": {"socket_address": {"address": address, "port_value": from}},
            "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}]}],
        "clusters": [cluster]}})
}

#[tokio::test]
async fn an_echo_tells_what_it_saw_byte_for_byte() {
    let loopback = Loopback::take().unwrap();
    let address = SocketAddr::from((loopback.address(), 8080));
    let echo = Echo::start(address).await.unwrap();
    let mut request = get("Example.ORG:1", "/a//b?c=%2F&d");
    request.headers = vec![
        ("X-Twice".to_owned(), b"1".to_vec()),
        ("x-bytes".to_owned(), b"\xff\xfe\x80 caf\xc3\xa9".to_vec()),
        ("x-twice".to_owned(), b"2, 3".to_vec()),
    ];
    for method in ["GET", "HEAD", "POST", "PURGE"] {
        request.method = method.to_owned();
        let response = client::send(address, &request).await.unwrap();
        let seen = response.seen().unwrap();
        assert_eq!(response.status, 200, "{method}");
        assert_eq!((&*seen.authority, &*seen.path, seen.port), ("Example.ORG:1", "/a//b?c=%2F&d", 8080), "{method}");
        assert_eq!(seen.method, method);
        let values = |name: &str| -> Vec<_> {
            seen.headers.iter().filter(|line| line.0 == name).map(|line| latin1::bytes(&line.1).unwrap()).collect()
        };
        assert_eq!(values("x-twice"), [b"1".to_vec(), b"2, 3".to_vec()], "{method}");
        assert_eq!(values("x-bytes"), [b"\xff\xfe\x80 caf\xc3\xa9".to_vec()], "{method}");
    }
    assert_eq!(echo.arrivals(), 4);
}

#[tokio::test]
async fn an_echo_ends_when_it_is_dropped() {
    let loopback = Loopback::take().unwrap();
    let address = SocketAddr::from((loopback.address(), 8080));
    drop(Echo::start(address).await.unwrap());
    until(Duration::from_secs(5), "the port is free", async || Ok(Echo::start(address).await.is_ok())).await.unwrap();
}

#[tokio::test]
async fn a_request_through_a_real_envoy_arrives() {
    let loopback = Loopback::take().unwrap();
    let echo = Echo::start((loopback.address(), 8081).into()).await.unwrap();
    let config = forward(loopback.address(), 8080, 8081);
    Envoy::validate(&config).unwrap();
    let envoy = Envoy::start(&config, loopback.address()).await.unwrap();
    let response = client::send((loopback.address(), 8080).into(), &get("example.org", "/")).await.unwrap();
    assert_eq!(response.seen().unwrap().port, 8081);
    assert_eq!(echo.arrivals(), 1);
    assert_eq!(envoy.stats("http.test.downstream_rq_2xx").await.unwrap()["http.test.downstream_rq_2xx"], 1);
    drop(envoy);
    client::send((loopback.address(), 8080).into(), &get("example.org", "/")).await.unwrap_err();
}

#[tokio::test]
async fn an_envoy_that_does_not_start_tells_why() {
    let loopback = Loopback::take().unwrap();
    let mut config = forward(loopback.address(), 8080, 8081);
    config["static_resources"]["listeners"][0]["no_such_field"] = json!(1);
    for error in [Envoy::validate(&config).unwrap_err(), Envoy::start(&config, loopback.address()).await.unwrap_err()] {
        assert!(error.to_string().contains("no_such_field"), "{error}");
    }
}
