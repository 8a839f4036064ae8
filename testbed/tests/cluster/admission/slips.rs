//! What can be wrong with an object by itself.

use mcwan_core::api::GROUP;
use serde_json::{Value, json};

use super::connections;
use super::objects::*;

/// Something that is refused, and its positive twin.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    /// Stands in the API server's refusal.
    pub(crate) refusal: &'static str,
    pub(crate) bad: Value,
    pub(crate) good: Value,
}

pub(crate) fn row(what: &'static str, refusal: &'static str, bad: Value, good: Value) -> Row {
    Row { what, refusal, bad, good }
}

/// Everything that the API server refuses.
pub(crate) fn refused() -> Vec<Row> {
    let all = [of_names(), of_the_registry(), connections::slips(), of_matches(), of_rules(), of_filters()];
    all.into_iter().flatten().collect()
}

fn of_names() -> Vec<Row> {
    let longest = "a".repeat(63);
    let port = json!({"port": 1});
    vec![
        row("a dot", "metadata.name must be a DNS label", policy("a.b", &port), policy("a-b", &port)),
        row("too long", "metadata.name must be", policy(&format!("{longest}a"), &port), policy(&longest, &port)),
        row(
            "of an import",
            "metadata.name must be",
            object("ServiceImport", "a.b", &json!({"http": {"rules": []}})),
            object("ServiceImport", "payment", &json!({"http": {"rules": []}})),
        ),
        row("of a cluster", "metadata.name must be", cluster("a.b", &json!({})), cluster("b", &json!({}))),
        row(
            "of an export",
            "metadata.name must be CLUSTER.NAMESPACE.NAME",
            export("c.ns.other", &json!({})),
            export("c.ns.pay", &json!({})),
        ),
    ]
}

fn of_the_registry() -> Vec<Row> {
    let tiers = |tiers: Value| cluster("c", &json!({"tiers": tiers}));
    let tier = |name: &str, port: u16| json!({"name": name, "port": port});
    let many = |count: u16| (1..=count).map(|port| tier(&format!("t{port}"), port)).collect::<Vec<_>>();
    let gateways = |names: [&str; 2]| {
        cluster(
            "c",
            &json!({"egressGateways": names.map(|name| json!({"namespace": name, "addresses": ["10.0.0.1"]}))}),
        )
    };
    let ports = |ports: Value| export("c.ns.pay", &json!({"ports": ports}));
    let gateway = |address: &str| export("c.ns.pay", &json!({"gateways": [address]}));
    vec![
        row("17 tiers", "spec.tiers", tiers(json!(many(17))), tiers(json!(many(16)))),
        row("a tier twice", "spec.tiers[1]", tiers(json!([tier("a", 1), tier("a", 2)])), tiers(json!([tier("a", 1)]))),
        row(
            "two tiers with one port",
            "spec.tiers must not have two tiers with one port",
            tiers(json!([tier("a", 1), tier("b", 1)])),
            tiers(json!([tier("a", 1), tier("b", 2)])),
        ),
        row("a tier's name", "spec.tiers[0].name", tiers(json!([tier("A", 1)])), tiers(json!([tier("a", 1)]))),
        row("a namespace twice", "spec.egressGateways[1]", gateways(["a", "a"]), gateways(["a", "b"])),
        row("no port", "spec.ports", ports(json!([])), ports(json!([{"port": 1}]))),
        row(
            "a port twice",
            "spec.ports[1]",
            ports(json!([{"port": 1}, {"port": 1, "protocol": "TCP"}])),
            ports(json!([{"port": 1}, {"port": 1, "protocol": "UDP"}])),
        ),
        row("port 0", "spec.ports[0].port", ports(json!([{"port": 0}])), ports(json!([{"port": 65535}]))),
        row("an address", "spec.gateways[0]", gateway("10.0.0"), gateway("fd00::1")),
        row(
            "a tier that cannot be",
            "spec.defaultTier",
            export("c.ns.pay", &json!({"defaultTier": "a.b"})),
            export("c.ns.pay", &json!({"defaultTier": "a"})),
        ),
        row("a tier's port 0", "spec.port", policy("a", &json!({"port": 0})), policy("a", &json!({"port": 1}))),
        row(
            "a loss",
            "spec.sla.lossPercent",
            policy("a", &json!({"port": 1, "sla": {"lossPercent": "101"}})),
            policy("a", &json!({"port": 1, "sla": {"lossPercent": "0.5"}})),
        ),
    ]
}

fn of_matches() -> Vec<Row> {
    let hostnames = |names: &[String]| import(&json!({"hostnames": names, "http": {"rules": []}}));
    let hosts = |count: usize| (0..count).map(|n| format!("h{n}.example.com")).collect::<Vec<_>>();
    let header = |name: &str, value: &str| http_match(&json!({"headers": [{"name": name, "value": value}]}));
    let param = |name: &str, value: &str| http_match(&json!({"queryParams": [{"name": name, "value": value}]}));
    let exact = |value: &str| path(&json!({"type": "Exact", "value": value}));
    let expression = |value: &str| path(&json!({"type": "RegularExpression", "value": value}));
    let many = |count: usize| rule(json!({"matches": vec![json!({"method": "GET"}); count]}));
    let field = "spec.http.rules[0].matches[0].path.value";
    vec![
        row("a host in upper case", "spec.hostnames[0]", hostnames(&["A.b".into()]), hostnames(&["*.a.b".into()])),
        row("a star inside", "spec.hostnames[0]", hostnames(&["a.*.b".into()]), hostnames(&["a.b".into()])),
        row("65 hosts", "spec.hostnames", hostnames(&hosts(65)), hostnames(&hosts(64))),
        row("65 matches", "spec.http.rules[0].matches", many(65), many(64)),
        row(
            "a method",
            "matches[0].method",
            http_match(&json!({"method": "get"})),
            http_match(&json!({"method": "GET"})),
        ),
        row("a relative path", field, path(&json!({"value": "payment"})), path(&json!({"value": "/payment"}))),
        row("an empty path", field, exact(""), exact("/")),
        row("an empty segment", field, exact("/a//b"), expression("/a//b")),
        row("a dot segment", field, exact("/a/./b"), exact("/a/.b")),
        row("a dot segment last", field, exact("/a/.."), exact("/a/...")),
        row("an encoded slash", field, exact("/a%2Fb"), exact("/a%2Eb")),
        row("half an encoding", field, exact("/a%2"), exact("/a%20")),
        row("a query", field, exact("/a?b"), exact("/a;b=(c)/")),
        row("a space", field, exact("/a b"), exact("/~a_b$")),
        row(
            "1025 characters",
            field,
            exact(&format!("/{}", "a".repeat(1024))),
            exact(&format!("/{}", "a".repeat(1023))),
        ),
        row("a header's name", "matches[0].headers[0].name", header("a b", "1"), header("A-b", "1")),
        row("an empty header", "matches[0].headers[0].value", header("a", ""), header("a", "1")),
        row("a parameter's name", "matches[0].queryParams[0].name", param("a=b", "1"), param("a", "1")),
        row("an empty parameter", "matches[0].queryParams[0].value", param("a", ""), param("a", "1")),
    ]
}

fn of_rules() -> Vec<Row> {
    let name = |name: &str| rule(json!({"name": name}));
    let timeouts = |request: &str| rule(json!({"timeouts": {"request": request, "backendRequest": "2s"}}));
    let backends = |count: usize| rule(json!({"backendRefs": vec![backend(); count]}));
    let weight = |weight: u32| rule(json!({"backendRefs": [{"name": "payment-v2", "port": 8080, "weight": weight}]}));
    let no_match = |status: u16| import(&json!({"http": {"noMatch": {"status": status}, "rules": []}}));
    let prefix = json!({"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}});
    let full = json!({"path": {"type": "ReplaceFullPath", "replaceFullPath": "/"}});
    let exact = json!([{"path": {"type": "PathPrefix", "value": "/a"}}, {"path": {"type": "Exact", "value": "/b"}}]);
    let rewritten = |to: &Value| rule(json!({"matches": exact, "filters": [rewrite(to)]}));
    let redirected = |to: &Value| {
        let filter = json!({"type": "RequestRedirect", "requestRedirect": to});
        rule(json!({"matches": exact, "filters": [filter], "backendRefs": []}))
    };
    let redirect = json!({"type": "RequestRedirect", "requestRedirect": {"port": 81}});
    vec![
        row("an empty name", "rules[0].name", name(""), name("a")),
        row("no rules", "spec.http.rules", import(&json!({"http": {}})), import(&json!({"http": {"rules": []}}))),
        row(
            "no rules, and nobody who gives them",
            "spec.http.rules",
            import(&json!({"http": {}})),
            import(&json!({"http": {"noMatch": {"status": 403}}})),
        ),
        row("a status", "spec.http.noMatch.status", no_match(402), no_match(429)),
        row("a long attempt", "backendRequest must not be longer than request", timeouts("1s"), timeouts("0s")),
        row("a time without unit", "timeouts.request", timeouts("10"), timeouts("1m10s")),
        row("17 backends", "rules[0].backendRefs", backends(17), backends(16)),
        row("a weight", "rules[0].backendRefs[0].weight", weight(1_000_001), weight(1_000_000)),
        row(
            "a redirect with backends",
            "a rule with a RequestRedirect filter must have no backendRefs",
            filters(std::slice::from_ref(&redirect)),
            rule(json!({"filters": [redirect], "backendRefs": []})),
        ),
        row(
            "a redirect and a rewrite",
            "filters must not have both a RequestRedirect and a URLRewrite",
            rule(json!({"filters": [redirect, rewrite(&full)], "backendRefs": []})),
            rule(json!({"filters": [redirect], "backendRefs": []})),
        ),
        row(
            "a prefix to rewrite",
            "urlRewrite.path.replacePrefixMatch only where",
            rewritten(&prefix),
            rewritten(&full),
        ),
        row(
            "a prefix to redirect",
            "requestRedirect.path.replacePrefixMatch only",
            redirected(&prefix),
            redirected(&full),
        ),
        row(
            "a rewrite twice",
            "at most one of type URLRewrite",
            filters(&[rewrite(&full), rewrite(&full)]),
            filters(&[rewrite(&full)]),
        ),
        row(
            "17 filters",
            "rules[0].filters",
            filters(&vec![mirror(&json!({})); 17]),
            filters(&vec![mirror(&json!({})); 16]),
        ),
        row(
            "17 filters of a backend",
            "filters must have at most 16 items",
            backend_filters(&vec![mirror(&json!({})); 17]),
            backend_filters(&vec![mirror(&json!({})); 16]),
        ),
    ]
}

fn of_filters() -> Vec<Row> {
    let headers = json!([{"name": "a", "value": "1"}]);
    let mut two = set(&headers);
    two["responseHeaderModifier"] = json!({"remove": ["b"]});
    let remove =
        |name: &str| filters(&[json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": [name]}})]);
    let change = |path: Value| filters(&[rewrite(&json!({"path": path}))]);
    let host = |hostname: &str| redirect(&json!({"hostname": hostname}));
    let port = |port: u32| redirect(&json!({"port": port}));
    vec![
        row(
            "a field of another type",
            "responseHeaderModifier must be set where",
            filters(&[two.clone()]),
            filters(&[set(&headers)]),
        ),
        row(
            "the same of a backend",
            "responseHeaderModifier must be set where",
            backend_filters(&[two]),
            backend_filters(&[set(&headers)]),
        ),
        row("no field", "cors must be set where type is CORS", filters(&[json!({"type": "CORS"})]), cors(&json!({}))),
        row("no such type", "filters[0].type", filters(&[json!({"type": "Rewrite"})]), filters(&[])),
        row(
            "a header's name",
            "requestHeaderModifier.set[0].name",
            filters(&[set(&json!([{"name": "a b", "value": "1"}]))]),
            filters(&[set(&headers)]),
        ),
        row(
            "an empty header",
            "requestHeaderModifier.set[0].value",
            filters(&[set(&json!([{"name": "a", "value": ""}]))]),
            filters(&[set(&headers)]),
        ),
        row(
            "a header twice",
            "requestHeaderModifier.set[1]",
            filters(&[set(&json!([{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]))]),
            filters(&[set(&json!([{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]))]),
        ),
        row("a name to remove", "requestHeaderModifier.remove[0]", remove("a:"), remove("a")),
        row(
            "two shares of a mirror",
            "percent and fraction must not both be set",
            filters(&[mirror(&json!({"percent": 1, "fraction": {"numerator": 1}}))]),
            filters(&[mirror(&json!({"percent": 1}))]),
        ),
        row(
            "more than all",
            "numerator must not be greater than denominator",
            backend_filters(&[mirror(&json!({"fraction": {"numerator": 101}}))]),
            backend_filters(&[mirror(&json!({"fraction": {"numerator": 100}}))]),
        ),
        row(
            "a path of another type",
            "replacePrefixMatch must be set where type is ReplacePrefixMatch",
            change(json!({"type": "ReplaceFullPath", "replaceFullPath": "/", "replacePrefixMatch": "/"})),
            change(json!({"type": "ReplaceFullPath", "replaceFullPath": "/"})),
        ),
        row("a host to redirect to", "requestRedirect.hostname", host("*.a.b"), host("a.b")),
        row("a port to redirect to", "requestRedirect.port", port(65_536), port(65_535)),
        row(
            "a status of a redirect",
            "requestRedirect.statusCode",
            redirect(&json!({"statusCode": 300})),
            redirect(&json!({"statusCode": 308})),
        ),
        row(
            "a host to rewrite to",
            "urlRewrite.hostname",
            filters(&[rewrite(&json!({"hostname": "A b"}))]),
            filters(&[rewrite(&json!({"hostname": "payment.secure.svc.clusterset.local"}))]),
        ),
        row(
            "an origin",
            "cors.allowOrigins[0]",
            cors(&json!({"allowOrigins": ["a.b"]})),
            cors(&json!({"allowOrigins": ["https://*.a.b:8443"]})),
        ),
        row(
            "a method",
            "cors.allowMethods[0]",
            cors(&json!({"allowMethods": ["get"]})),
            cors(&json!({"allowMethods": ["*"]})),
        ),
        row(
            "an origin twice",
            "cors.allowOrigins[1]",
            cors(&json!({"allowOrigins": ["http://a", "http://a"]})),
            cors(&json!({"allowOrigins": ["http://a", "http://b"]})),
        ),
    ]
}

/// What is wrong with it, and yet admitted: RESOURCES has it answered with 500 and told in a condition.
pub(crate) fn admitted_all_the_same() -> Vec<(&'static str, Value)> {
    let extension = json!({"type": "ExtensionRef", "extensionRef": {"group": "g", "kind": "K", "name": "n"}});
    vec![
        ("an extension", filters(&[extension])),
        ("a retry", rule(json!({"retry": {"attempts": 3}}))),
        ("session persistence", rule(json!({"sessionPersistence": {"type": "Cookie"}}))),
        ("a header of mcwan's own", filters(&[set(&json!([{"name": "x-mcwan-target", "value": "1"}]))])),
        ("an expression that cannot be read", path(&json!({"type": "RegularExpression", "value": "("}))),
        ("an unknown tier", rule(json!({"backendRefs": [{"group": GROUP, "kind": "WANPolicy", "name": "nosuch"}]}))),
        ("no backend", rule(json!({"backendRefs": []}))),
    ]
}
