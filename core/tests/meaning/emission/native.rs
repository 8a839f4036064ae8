//! Native imports: rules as `HTTPRoute`s, and what they cannot say.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::problem::Reason;
use serde_json::{Value, json};

use super::world::{
    Egress, HIGH, World, at, egress_objects, mk_export, mk_import, mk_plain_export, of_kind, reasons, settings, to_high,
};

fn egress(world: &World) -> Egress {
    let imports: Vec<_> = world.translator.imports_of("secure").into_iter().map(|import| &**import).collect();
    egress_objects("secure", &imports, &settings(DataPlane::Native))
}

/// The rules of all routes, in order.
fn rules(egress: &Egress) -> Vec<Value> {
    let routes = of_kind(&egress.objects, Kind::HttpRoute).into_iter();
    routes.flat_map(|(_, route)| at(route, "/spec/rules").as_array().unwrap().clone()).collect()
}

#[test]
fn there_is_no_filter() {
    let egress = egress(&World::new(&[mk_plain_export(), mk_import("payment", &[to_high("")])]));
    let names: Vec<_> = egress.objects.iter().map(|object| object.id.key.name.to_string()).collect();
    assert_eq!(names, ["mcwan-egress-native", "mcwan-egress-native", "mcwan-egress", "payment.8080"]);
    assert_eq!(egress.problems, []);
}

#[test]
fn what_no_route_can_say_answers_500_and_is_named() {
    let prefix = |path: &str, replacement: &str| {
        let rewrite = format!("{{type: ReplacePrefixMatch, replacePrefixMatch: {replacement}}}");
        let filters = format!("filters: [{{type: URLRewrite, urlRewrite: {{path: {rewrite}}}}}]");
        to_high(&format!("matches: [{{path: {{value: {path}}}}}], {filters}"))
    };
    let redirect = |path: &str, replacement: &str| {
        let rewrite = format!("{{type: ReplacePrefixMatch, replacePrefixMatch: {replacement}}}");
        let filters = format!("filters: [{{type: RequestRedirect, requestRedirect: {{path: {rewrite}}}}}]");
        format!("{{matches: [{{path: {{value: {path}}}}}], {filters}}}")
    };
    let one_of_two = |filter: &str| {
        let other = HIGH.replace('}', &format!(", filters: [{filter}]}}"));
        format!("{{backendRefs: [{HIGH}, {other}]}}")
    };
    let host = "{type: URLRewrite, urlRewrite: {hostname: payment.secure.svc.clusterset.local}}";
    let path = "{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: /x}}}";
    let header = "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: '1'}]}}";
    let away = "{type: RequestRedirect, requestRedirect: {hostname: example.com}}";
    let table = [
        (to_high(""), true, "a backend"),
        (prefix("/a", "/b"), true, "a prefix"),
        (prefix("/a", "/"), true, "a prefix that goes"),
        (prefix("/", "/b"), false, "a path in front of every path"),
        (redirect("/a", "/b"), true, "a redirect to another prefix"),
        (redirect("/a", "/"), false, "a redirect to no prefix"),
        (redirect("/", "/b"), false, "a redirect from every path"),
        (one_of_two(header), true, "a header for one backend only"),
        (one_of_two(host), false, "a host for one backend only"),
        (one_of_two(path), false, "a path for one backend only"),
        (one_of_two(away), false, "a redirect for a share"),
    ];
    for (rule, sayable, message) in table {
        let egress = egress(&World::new(&[mk_plain_export(), mk_import("payment", &[to_high(""), rule])]));
        let rules = rules(&egress);
        let does_something = rules[1].get("backendRefs").or(rules[1].get("filters")).is_some();
        assert_eq!(does_something, sayable, "{message}: {}", rules[1]);
        let expected: &[_] = if sayable { &[] } else { &["UnsupportedFilter spec.http.rules[1]"] };
        assert_eq!(reasons(&egress.problems), expected, "{message}");
    }
}

#[test]
fn a_rule_that_the_filter_refuses_has_no_backend_either() {
    let unknown = "{backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: nowhere}]}".to_owned();
    let egress = egress(&World::new(&[mk_plain_export(), mk_import("payment", &[unknown, to_high("")])]));
    let backends: Vec<_> = rules(&egress).iter().map(|rule| rule.get("backendRefs").is_some()).collect();
    assert_eq!((backends, egress.problems), (vec![false, true], Vec::new()), "the translation has named it");
}

#[test]
fn a_match_that_cannot_be_said_breaks_the_import() {
    let table = [
        ("queryParams: [{name: 'a[]', value: b}]", 1, "a name of a parameter that routes cannot have"),
        ("path: {type: RegularExpression, value: '('}", 0, "an expression that cannot be read"),
    ];
    for (alternative, problems, message) in table {
        let rule = to_high(&format!("matches: [{{{alternative}}}]"));
        let egress = egress(&World::new(&[mk_plain_export(), mk_import("payment", &[to_high(""), rule])]));
        let everything = json!([{"path": {"type": "PathPrefix", "value": "/"}}]);
        assert_eq!(rules(&egress), [json!({"name": "broken", "matches": everything})], "{message}");
        assert_eq!(egress.problems.len(), problems, "{message}: {:?}", egress.problems);
    }
}

#[test]
fn an_import_over_a_bound_is_refused_alone() {
    let pattern = |number: usize| format!("{{path: {{type: RegularExpression, value: /r{number}}}}}");
    let matches = (0..4_097).map(pattern).collect::<Vec<_>>();
    let large: Vec<_> = matches.chunks(64).map(|some| to_high(&format!("matches: [{}]", some.join(", ")))).collect();
    let imports = [mk_import("payment", &large), mk_import("stats", &[to_high("")])];
    let other = mk_plain_export().replace("payment", "stats");
    let (_, other) = other.split_once("---\n").unwrap();
    let egress = egress(&World::new(&[&[mk_plain_export(), other.to_owned()], &imports[..]].concat()));
    let everything = json!([{"path": {"type": "PathPrefix", "value": "/"}}]);
    let [refused, sound] = &*rules(&egress) else { panic!("a rule for each") };
    assert_eq!(*refused, json!({"name": "broken", "matches": everything}), "it answers 500");
    assert!(sound["backendRefs"].is_array(), "its neighbour does not: {sound}");
    let told: Vec<_> = egress.problems.iter().map(|problem| (problem.reason, problem.object.name.as_str())).collect();
    assert_eq!(told, [(Reason::TooLarge, "payment")]);
}

#[test]
fn a_prefix_is_replaced_for_one_match_at_a_time() {
    let rewrite = "{type: ReplacePrefixMatch, replacePrefixMatch: /c}";
    let filters = format!("filters: [{{type: URLRewrite, urlRewrite: {{path: {rewrite}}}}}]");
    let rule = to_high(&format!("matches: [{{path: {{value: /a}}}}, {{path: {{value: /b}}}}], {filters}"));
    let rules = rules(&egress(&World::new(&[mk_plain_export(), mk_import("payment", &[rule])])));
    let paths: Vec<_> = rules.iter().map(|rule| at(rule, "/matches/0/path/value")).collect();
    assert_eq!(paths, ["/a", "/b"]);
    assert!(rules.iter().all(|rule| rule["matches"].as_array().unwrap().len() == 1));
}

#[test]
fn a_route_holds_128_matches() {
    let matches: Vec<_> = (0..64).map(|number| format!("{{path: {{value: /{number}}}}}")).collect();
    let rule = to_high(&format!("matches: [{}]", matches.join(", ")));
    let egress = egress(&World::new(&[mk_plain_export(), mk_import("payment", &[rule.clone(), rule.clone(), rule])]));
    let routes = of_kind(&egress.objects, Kind::HttpRoute);
    let lengths: Vec<_> = routes.iter().map(|(_, route)| at(route, "/spec/rules").as_array().unwrap().len()).collect();
    assert_eq!(lengths, [2, 1]);
}

#[test]
fn a_share_of_a_share_is_a_weight() {
    let export = |cluster: &str, gateway: &str, pods: u32| {
        mk_export(cluster, &format!("ports: [{{port: 8080}}], gateways: [{gateway}], readyPods: {pods}"))
    };
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: v2, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";
    let tier = HIGH.replace('}', ", weight: 90}");
    let rule = format!("{{backendRefs: [{tier}, {{name: v2, port: 8080, weight: 10}}]}}");
    let documents =
        [export("c1", "10.20.1.7", 2), export("c2", "10.20.2.7", 1), service.to_owned(), mk_import("payment", &[rule])];
    let rules = rules(&egress(&World::new(&documents)));
    let weights: Vec<_> = rules[0]["backendRefs"].as_array().unwrap().iter().map(|one| &one["weight"]).collect();
    assert_eq!(weights, [60_000, 30_000, 10_000]);
}

#[test]
fn a_status_that_routes_do_not_answer_is_told() {
    let matched = to_high("matches: [{path: {value: /a}}]");
    let table = [
        (matched.clone(), "", 1, "403 is not 404"),
        (matched, "noMatch: {status: 404}, ", 0, "404 is"),
        (to_high(""), "", 0, "everything matches"),
    ];
    for (rule, no_match, told, message) in table {
        let import = mk_import("payment", std::slice::from_ref(&rule)).replace(
            &format!("  http:\n    rules:\n    - {rule}\n"),
            &format!("  http: {{{no_match}rules: [{rule}]}}\n"),
        );
        let egress = egress(&World::new(&[mk_plain_export(), import]));
        let expected = vec!["UnsupportedStatus spec.http.noMatch.status"; told];
        assert_eq!(reasons(&egress.problems), expected, "{message}");
    }
}

#[test]
fn of_two_imports_with_one_host_the_older_has_it() {
    let import = |name: &str| {
        let rule = to_high("").replace(HIGH, "{name: v2, port: 8080}");
        mk_import(name, &[rule]).replace("spec:\n", "spec:\n  hostnames: [pay.example.com]\n")
    };
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: v2, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";
    let egress = egress(&World::new(&[service.to_owned(), import("older"), import("alike")]));
    let has_host: Vec<_> = of_kind(&egress.objects, Kind::HttpRoute)
        .into_iter()
        .map(|(name, route)| {
            (name, at(route, "/spec/hostnames").as_array().unwrap().contains(&json!("pay.example.com")))
        })
        .collect();
    assert_eq!(has_host, [("older.8080", true), ("alike.8080", false)]);
    assert_eq!(reasons(&egress.problems), ["HostConflict"]);
}
