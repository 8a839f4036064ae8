//! What routes ask for beside their backends.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::{Asked, Explainer};
use mcwan_core::snapshot::Key;
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, translate};
use mcwan_policy::wire::UnknownHosts;
use serde_json::{Value, json};

use super::super::world::{at, egress_objects, import_objects, of_kind, options, reasons, settings};
use super::{admission, ask, hosts, mk_route, mk_route_of, mk_service, refusal, world, world_with};

#[test]
fn tls_ends_at_the_gateway() {
    let tls = |insecure: &str| {
        json!({"host": "a.b", "tls": {"termination": "edge", "insecureEdgeTerminationPolicy": insecure,
            "externalCertificate": {"name": "a-tls"}}})
    };
    let table = [
        (json!({"host": "a.b"}), ["service.shop:80", "503"], "in the clear only"),
        (tls("None"), ["503", "service.shop:80"], "by TLS only"),
        (tls(""), ["503", "service.shop:80"], "the same"),
        (tls("Redirect"), ["302 https://a.b/x?y", "service.shop:80"], "redirected"),
        (tls("Allow"), ["service.shop:80", "service.shop:80"], "both"),
    ];
    for (spec, expected, message) in table {
        let world = world(&[mk_route("www", spec), mk_service("shop")]);
        assert_eq!([80, 443].map(|port| ask(&world, "a.b:1", port, "/x?y")), expected, "{message}");
        let objects = egress_objects("secure", &[hosts(&world)], &settings(DataPlane::Wasm)).objects;
        let (_, gateway) = of_kind(&objects, Kind::Gateway)[0];
        let secure = at(gateway, "/spec/listeners").as_array().unwrap().iter().filter(|one| one["protocol"] == "HTTPS");
        let secure: Vec<_> = secure.map(|one| (&one["hostname"], &one["tls"]["certificateRefs"][0]["name"])).collect();
        let has_tls = message != "in the clear only";
        assert_eq!(secure, [(&json!("a.b"), &json!("a-tls"))].into_iter().filter(|_| has_tls).collect::<Vec<_>>());
    }
}

#[test]
fn the_longest_path_says_what_becomes_of_a_request_in_the_clear() {
    let tls = json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect",
        "externalCertificate": {"name": "a-tls"}});
    for (redirected, expected) in
        [("/x", ["service.shop:80", "302 https://a.b/x/y"]), ("/", ["302 https://a.b/", "service.shop:80"])]
    {
        let other = if redirected == "/" { "/x" } else { "/" };
        let secure = mk_route("secure", json!({"host": "a.b", "path": redirected, "tls": tls}));
        let clear = mk_route("clear", json!({"host": "a.b", "path": other}));
        let world = world(&[secure, clear, mk_service("shop")]);
        assert_eq!(["/", "/x/y"].map(|path| ask(&world, "a.b", 80, path)), expected, "{redirected}");
    }
}

#[test]
fn what_a_route_cannot_have_it_is_told() {
    let host = |host: &str| json!({"host": host});
    let with = |more: Value| {
        let mut spec = json!({"host": "a.b"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let edge = |more: Value| {
        let mut tls = json!({"termination": "edge"});
        tls.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(json!({"tls": tls}))
    };
    let certificate = |name: &str| edge(json!({"externalCertificate": {"name": name}}));
    let set_all = |pairs: &[(&str, &str)]| {
        let action =
            |(name, value): &(&str, &str)| json!({"name": name, "action": {"type": "Set", "set": {"value": value}}});
        with(json!({"httpHeaders": {"actions": {"request": pairs.iter().map(action).collect::<Vec<_>>()}}}))
    };
    let set = |value: &str| set_all(&[("x-a", value)]);
    let removed = |count: usize| {
        let gone = |number| json!({"name": format!("x-{number}"), "action": {"type": "Delete"}});
        with(json!({"httpHeaders": {"actions": {"request": (0..count).map(gone).collect::<Vec<_>>()}}}))
    };
    let haproxy = |key: &str, value: &str| json!({format!("haproxy.router.openshift.io/{key}"): value});
    let none = json!({});
    let table = [
        (json!({}), &none, Some("NoHostValue"), "pass"),
        (json!({"subdomain": "www"}), &none, Some("NoHostValue"), "pass"),
        (host("A.b"), &none, Some("InvalidHost"), "pass"),
        (host("a b"), &none, Some("InvalidHost"), "pass"),
        (host("a#b"), &none, Some("InvalidHost"), "pass"),
        (host(&format!("{}.b", "a".repeat(64))), &none, Some("InvalidHost"), "pass"),
        (with(json!({"path": "/a b"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"path": "/a#b"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"path": "/caf%65"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"path": "/caf%C3%A9"})), &none, None, "503"),
        (with(json!({"path": "a"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"wildcardPolicy": "Subdomain"})), &none, Some("RouteNotAdmitted"), "pass"),
        (with(json!({"wildcardPolicy": "None", "path": "/"})), &none, None, "service.shop:80"),
        (edge(json!({})), &none, Some("ExtendedValidationFailed"), "503"),
        (edge(json!({"key": "k", "certificate": "c"})), &none, Some("ExtendedValidationFailed"), "503"),
        (certificate(""), &none, Some("ExtendedValidationFailed"), "503"),
        (certificate("a_tls"), &none, Some("ExtendedValidationFailed"), "503"),
        (certificate("a..tls"), &none, Some("ExtendedValidationFailed"), "503"),
        (certificate(&"a".repeat(254)), &none, Some("ExtendedValidationFailed"), "503"),
        (certificate(&format!("a-0.{}", "a".repeat(249))), &none, None, "503"),
        (with(json!({"tls": {"termination": "passthrough"}})), &none, Some("TerminationUnsupported"), "503"),
        (with(json!({"tls": {"termination": "reencrypt"}})), &none, Some("TerminationUnsupported"), "503"),
        (set("%[src]"), &none, Some("UnsupportedHeaderValue"), "503"),
        (set("5%% off"), &none, None, "service.shop:80"),
        (set(""), &none, Some("UnsupportedHeaderValue"), "503"),
        (set(&"%%".repeat(2_049)), &none, Some("UnsupportedHeaderValue"), "503"),
        (set_all(&[("x-a", "1"), ("X-A", "2")]), &none, Some("UnsupportedHeaderValue"), "503"),
        (removed(16), &none, None, "service.shop:80"),
        (removed(17), &none, Some("UnsupportedHeaderValue"), "503"),
        (host("a.b"), &haproxy("ip_allowlist", "10.0.0.0/8"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("rate-limit-connections", "true"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("ip_allowlist", " "), None, "service.shop:80"),
        (host("a.b"), &haproxy("ip_allowlist", "10.0.0.0/8,"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("rate-limit-connections", "false"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rate-limit-connections.rate-http", "9"), None, "service.shop:80"),
        (host("a.b"), &haproxy("pod-concurrent-connections", "9"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("timeout", "soon"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "new"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "/a b"), Some("UnsupportedAnnotation"), "503"),
        (
            host("a.b"),
            &haproxy("rewrite-target", &format!("/{}", "a".repeat(1_024))),
            Some("UnsupportedAnnotation"),
            "503",
        ),
        (host("a.b"), &haproxy("balance", "source"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "/new"), None, "service.shop:80 /new/"),
        (host("payment.secure"), &none, Some("HostAlreadyClaimed"), "import"),
    ];
    for (spec, annotations, expected, answer) in table {
        let message = format!("{spec} {annotations}");
        let route = mk_route_of("secure", "www", 0, annotations, spec);
        let neighbour = mk_route("neighbour", json!({"host": "other.b"}));
        let world = world(&[route, neighbour, mk_service("shop")]);
        assert_eq!(refusal(&world, "secure", "www").as_deref(), expected, "{message}");
        if answer != "import" {
            assert_eq!(ask(&world, "a.b", 80, "/"), answer, "{message}");
        }
        assert_eq!(ask(&world, "other.b", 80, "/"), "service.shop:80", "a neighbour of {message}");
        assert_eq!(mcwan_policy::check(&hosts(&world).wire), [], "{message}");
    }
}

#[test]
fn a_route_that_names_no_certificate_has_that_of_the_options() {
    let route = || mk_route("www", json!({"host": "a.b", "tls": {"termination": "edge"}}));
    let options = RouteOptions { certificate: Some("default-tls".to_owned()), ..RouteOptions::default() };
    let world = world_with(options, &[route(), mk_service("shop")]);
    assert_eq!(refusal(&world, "secure", "www"), None);
    assert_eq!(hosts(&world).certificates, [("a.b".to_owned(), "default-tls".to_owned())]);
}

#[test]
fn a_host_has_the_certificate_that_its_oldest_route_names() {
    let route = |name: &str, second, secret: &str| {
        let tls = json!({"termination": "edge", "externalCertificate": {"name": secret}});
        mk_route_of("secure", name, second, &json!({}), json!({"host": "a.b", "path": format!("/{name}"), "tls": tls}))
    };
    let world = world(&[route("one", 2, "one-tls"), route("two", 1, "two-tls"), mk_service("shop")]);
    assert_eq!(hosts(&world).certificates, [("a.b".to_owned(), "two-tls".to_owned())]);
}

#[test]
fn a_name_that_no_secret_can_have_is_told_by_its_field() {
    let options = RouteOptions { certificate: Some("default-tls".to_owned()), ..RouteOptions::default() };
    let tls = json!({"termination": "edge", "externalCertificate": {"name": "A tls"}});
    let world = world_with(options, &[mk_route("www", json!({"host": "a.b", "tls": tls}))]);
    let told = admission(&world, "secure", "www").admitted.clone().map_err(|(_, message)| message);
    assert_eq!(told, Err("tls.externalCertificate.name: no Secret can be called \"A tls\"".to_owned()));
    assert!(hosts(&world).certificates.is_empty(), "the default one is not what it asks for");
}

#[test]
fn a_secret_that_a_route_names_is_one_that_we_may_read() {
    let route = |namespace: &str, second: u8, tls: Value| {
        mk_route_of(namespace, "www", second, &json!({}), json!({"host": "a.b", "tls": tls}))
    };
    let named = json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Allow",
        "externalCertificate": {"name": "a-tls"}});
    let default = json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Allow"});
    let table = [
        (&named, None, None, "of files, nobody knows"),
        (&named, Some(&["secure/a-tls", "secure/b-tls"][..]), None, "it is granted"),
        (&named, Some(&["secure/b-tls", "other/a-tls"]), Some("ExtendedValidationFailed"), "others are granted"),
        (&default, Some(&[]), None, "the default one is the controller's own choice"),
    ];
    for (tls, readable, expected, message) in table {
        let options = RouteOptions { certificate: Some("default-tls".to_owned()), ..RouteOptions::default() };
        let younger = route("younger", 1, json!({"termination": "edge"}));
        let mut world = world_with(options, &[route("secure", 0, tls.clone()), younger, mk_service("shop")]);
        // Granted, taken away, and granted again.
        for secrets in [readable, readable.map(|_| &[][..]), readable].into_iter().flatten() {
            let keys = secrets.iter().filter_map(|secret| secret.split_once('/'));
            let changes = world.gathered.snapshot.allow(keys.map(|(of, name)| (Key::new(of, name), true)).collect());
            world.translator.update(&world.gathered.snapshot, &changes);
        }
        assert_eq!(refusal(&world, "secure", "www").as_deref(), expected, "{message}");
        let answer = if expected.is_none() { "service.shop:80" } else { "503" };
        assert_eq!([80, 443].map(|port| ask(&world, "a.b", port, "/")), [answer; 2], "{message}");
        assert_eq!(hosts(&world).certificates.is_empty(), expected.is_some(), "{message}");
        assert_eq!(refusal(&world, "younger", "www").as_deref(), Some("HostAlreadyClaimed"), "{message}");
    }
}

#[test]
fn what_is_static_is_done_by_the_httproute() {
    let header = |name: &str, action: Value| json!({"name": name, "action": action});
    let set = |value: &str| json!({"type": "Set", "set": {"value": value}});
    let request = [header("X-A", set("5%%")), header("x-b", json!({"type": "Delete"}))];
    let actions = json!({"request": request, "response": [header("x-c", set("c"))]});
    let annotations = json!({"haproxy.router.openshift.io/timeout": "90s"});
    let spec = json!({"host": "a.b", "httpHeaders": {"actions": actions}});
    let world = world(&[mk_route_of("secure", "www", 0, &annotations, spec), mk_service("shop")]);
    let (objects, problems) = import_objects(hosts(&world), &settings(DataPlane::Wasm));
    assert_eq!(problems, []);
    let (_, route) = of_kind(&objects, Kind::HttpRoute)[0];
    let rule = at(route, "/spec/rules/0");
    assert_eq!(at(rule, "/timeouts"), &json!({"request": "1m30s"}));
    let filters = at(rule, "/filters").as_array().unwrap();
    let of = |field: &str| filters.iter().find_map(|filter| filter.get(field)).cloned();
    let changed = json!({"set": [{"name": "X-A", "value": "5%%"}], "remove": ["x-b"]});
    assert_eq!(of("requestHeaderModifier"), Some(changed), "a % is one where Envoy reads two");
    assert_eq!(of("responseHeaderModifier"), Some(json!({"set": [{"name": "x-c", "value": "c"}]})));
}

#[test]
fn upstreams_are_told_the_host_that_the_client_used() {
    let to = json!({"kind": "Service", "name": "payment-clusterset"});
    let world = world(&[mk_route("www", json!({"host": "a.b", "to": to}))]);
    let translation = translate(&world.gathered.snapshot, &options());
    let plugin = Plugin::new(&translation.imports, UnknownHosts::Pass).unwrap();
    let forged = [("x-forwarded-host".to_owned(), "forged".to_owned())];
    let asked = Asked::new("GET", "http", "a.b:8080", Some(80), "/", &forged);
    let (outcome, _) = Explainer::new(&translation, &plugin).explain(&asked, 0);
    assert_eq!(outcome.authority.as_deref(), Some("payment.secure.svc.cluster.local"));
    let lines = outcome.request_headers.unwrap();
    let told: Vec<_> = lines.iter().filter(|(name, _)| name == "x-forwarded-host").collect();
    assert_eq!(told, [&("x-forwarded-host".to_owned(), "a.b:8080".to_owned())]);
}

#[test]
fn what_needs_a_route_of_its_own_is_refused_where_there_is_none() {
    let plain = mk_route("plain", json!({"host": "a.b"}));
    let annotations = json!({"haproxy.router.openshift.io/timeout": "90s"});
    let timed = mk_route_of("secure", "timed", 0, &annotations, json!({"host": "b.b"}));
    let world = world(&[plain, timed, mk_service("shop")]);
    let options = Options { steering: Steering::ClusterHeader, ..options() };
    let problems = translate(&world.gathered.snapshot, &options).problems;
    assert_eq!(reasons(&problems), ["UnsupportedFilter spec"]);
    assert_eq!(problems[0].object.name, "timed");
}

#[test]
fn a_front_end_that_is_off_serves_nobody() {
    let world = world(&[mk_route("www", json!({"host": "a.b"})), mk_service("shop")]);
    for (openshift_route, expected) in [(true, 1), (false, 0)] {
        let front_ends = FrontEnds { openshift_route, ..FrontEnds::default() };
        let translation = translate(&world.gathered.snapshot, &Options { front_ends, ..options() });
        let served = translation.imports.iter().filter(|import| !import.admissions.is_empty());
        assert_eq!(served.count(), expected, "{openshift_route}");
    }
}

#[test]
fn what_is_ignored_is_named() {
    let annotations = json!({"haproxy.router.openshift.io/timeout": "soon", "router.openshift.io/cookie_name": "c",
        "haproxy.router.openshift.io/rewrite-target": "/new"});
    let world = world(&[mk_route_of("secure", "www", 0, &annotations, json!({"host": "a.b"})), mk_service("shop")]);
    let ignored = "not looked at: haproxy.router.openshift.io/timeout, router.openshift.io/cookie_name";
    assert_eq!(admission(&world, "secure", "www").admitted, Ok(ignored.to_owned()));
}
