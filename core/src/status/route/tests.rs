use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::api::RouteKind;
use crate::api::route::conditions;
use crate::problem::ObjectRef;
use crate::snapshot::change::{Change, InputKind};
use crate::snapshot::input;
use crate::snapshot::{Gathered, Snapshot};
use crate::status::GatewayState;
use crate::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};

const WORLD: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANPolicy
metadata: {name: high}
spec: {port: 31111}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: c1, namespace: mc-wan-registry}
spec: {tiers: [{name: high, port: 31111}]}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: c1.secure.payment, namespace: mc-wan-registry}
spec: {cluster: c1, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 8080}], readyPods: 1}
";

/// What a world has: its route `secure/pay`, and what its resources mean.
struct Scene {
    route: Route,
    snapshot: Snapshot,
    translator: Translator,
}

impl Scene {
    /// A route with these parents and rules, and what it is told already.
    fn new(parents: &Value, rules: &Value, told: &Value) -> Self {
        let spec = json!({"parentRefs": parents, "rules": rules});
        let metadata = json!({"name": "pay", "namespace": "secure", "generation": 2, "resourceVersion": "7"});
        let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": metadata, "spec": spec, "status": {"parents": told}});
        let gathered = Gathered::from_text("world.yaml", &format!("{WORLD}---\n{route}\n"));
        assert!(gathered.is_complete(), "{:?}", gathered.findings);
        let mut translator = Translator::new(Options {
            cluster: Some("own".to_owned()),
            steering_key: "0123456789abcdef".parse().unwrap(),
            steering: Steering::RouteHeader,
            mcs_version: crate::api::McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        });
        translator.update(&gathered.snapshot, &[Change::Everything]);
        let route = gathered.snapshot.routes.iter().next().unwrap().clone();
        Self { route, snapshot: gathered.snapshot, translator }
    }

    fn patch(&self, delivery: &Delivery) -> Option<StatusPatch> {
        self.patch_with(&[], delivery)
    }

    /// The same where this was found wrong when objects were made.
    fn patch_with(&self, emitted: &[Problem], delivery: &Delivery) -> Option<StatusPatch> {
        let import = |key: &Key| self.translator.imports().get(&key.namespace, &key.name);
        let parent = |key: &Key| {
            let emitted = || emitted.iter().collect();
            import(key).map(|import| RouteParent { import, emitted: emitted(), delivery: delivery.clone() })
        };
        let is_exported = |key: &Key| &*key.name == "exported";
        route(&self.route, parent, is_exported, &Time(Timestamp::UNIX_EPOCH))
    }

    fn told(&self) -> Vec<Value> {
        let patch = self.patch(&Delivery::default()).expect("there is something to say");
        patch.body["status"]["parents"].as_array().unwrap().clone()
    }
}

fn parent(name: &str) -> Value {
    json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": name})
}

fn rule(backend: &Value) -> Value {
    json!([{"backendRefs": [backend]}])
}

fn high() -> Value {
    json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"})
}

/// `CONDITION STATUS REASON` of each condition of an entry.
fn summary(entry: &Value) -> Vec<String> {
    let text = |said: &Condition| format!("{} {} {}", said.type_, said.status, said.reason);
    conditions(entry).iter().map(text).collect()
}

#[test]
fn each_parent_that_is_an_import_has_an_entry() {
    let gateway = json!({"name": "edge"});
    let scene = Scene::new(&json!([gateway, parent("payment"), parent("nobody")]), &rule(&high()), &json!([]));
    let told = scene.told();
    let [ours, lost] = &told[..] else { panic!("a Gateway is somebody else's: {told:?}") };
    assert_eq!(
        summary(ours),
        ["Accepted True Accepted", "ResolvedRefs True ResolvedRefs", "Programmed True Programmed"]
    );
    assert_eq!((&ours["parentRef"], &ours["controllerName"]), (&parent("payment"), &json!(CONTROLLER)));
    assert!(conditions(ours).iter().all(|said| said.observed_generation == Some(2)));
    assert_eq!(summary(lost), ["Accepted False NoMatchingParent"]);
    let patch = scene.patch(&Delivery::default()).unwrap();
    assert_eq!(patch.body["metadata"]["resourceVersion"], "7", "refused where somebody else was faster");
}

#[test]
fn of_services_those_have_an_entry_that_are_ours() {
    let service = |name: &str| json!({"group": "", "kind": "Service", "name": name});
    let parents = json!([service("payment"), service("exported"), service("other")]);
    let local = rule(&json!({"name": "v2", "port": 80}));
    let named = |told: &[Value]| told.iter().map(|entry| entry["parentRef"]["name"].clone()).collect::<Vec<_>>();
    let told = Scene::new(&parents, &local, &json!([])).told();
    assert_eq!(named(&told), ["payment", "exported"], "what others may know is left to them");
    assert_eq!(summary(&told[0])[0], "Accepted True Accepted");
    assert_eq!(summary(&told[1]), ["Accepted False NoMatchingParent"]);
    let told = Scene::new(&parents, &rule(&high()), &json!([])).told();
    assert_eq!(named(&told), ["payment", "exported", "other"], "nobody else knows a tier");
    let left = Scene::new(&json!([service("other")]), &local, &json!([told[2]]));
    assert_eq!(left.told(), [json!(null); 0], "what we said before is removed");
}

#[test]
fn hostnames_are_told_of_whatever_becomes_of_the_route() {
    let mut scene = Scene::new(&json!([parent("payment"), parent("nobody")]), &rule(&high()), &json!([]));
    let odd = json!({"metadata": scene.route.metadata, "spec": {"hostnames": ["a.example"],
        "parentRefs": [parent("payment"), parent("nobody")]}});
    scene.route = Route::new(RouteKind::Http, serde_json::from_value(odd).unwrap());
    for entry in scene.told() {
        let accepted = conditions(&entry).remove(0);
        assert!(accepted.message.ends_with("; `hostnames` are not looked at"), "{accepted:?}");
    }
}

#[test]
fn what_is_wrong_with_the_rules_is_said() {
    let table = [
        (rule(&json!({"group": "x", "kind": "Bucket", "name": "b"})), vec!["ResolvedRefs False InvalidKind"], "a kind"),
        (rule(&json!({"name": "v2", "port": 80})), vec!["ResolvedRefs False BackendNotFound"], "no Service"),
        (json!([{}]), vec!["ResolvedRefs False NoBackend"], "no backend"),
        (
            json!([{"filters": [{"type": "ExtensionRef", "extensionRef": {"group": "g", "kind": "K", "name": "n"}}],
                "backendRefs": [high()]}]),
            vec!["PartiallyInvalid True UnsupportedValue", "ResolvedRefs True ResolvedRefs"],
            "a filter that nobody does",
        ),
        (
            json!([{"matches": [{"path": {"type": "RegularExpression", "value": "("}}], "backendRefs": [high()]}]),
            vec!["Accepted False UnsupportedValue"],
            "a match that nobody can read",
        ),
    ];
    for (rules, expected, message) in table {
        let told = Scene::new(&json!([parent("payment")]), &rules, &json!([])).told();
        let said = summary(&told[0]);
        assert!(expected.iter().all(|one| said.contains(&(*one).to_owned())), "{message}: {said:?}");
    }
}

#[test]
fn a_route_that_another_spoils_is_not_in_force() {
    let mut scene = Scene::new(&json!([parent("payment")]), &rule(&high()), &json!([]));
    let odd = json!({"metadata": {"name": "odd", "namespace": "secure"}, "spec": {"parentRefs": [parent("payment")],
        "rules": [{"matches": [{"color": "red"}]}]}});
    let odd = input::read(InputKind::Route(RouteKind::Http), &odd).unwrap();
    let changes = scene.snapshot.put(odd);
    scene.translator.update(&scene.snapshot, &changes);
    let told = scene.told();
    assert_eq!(summary(&told[0])[0], "Accepted True Accepted");
    assert_eq!(summary(&told[0])[2], "Programmed False Invalid", "all requests are answered with 500");
}

#[test]
fn a_route_of_what_a_gateway_has_no_room_for_is_not_in_force() {
    let scene = Scene::new(&json!([parent("payment")]), &rule(&high()), &json!([]));
    let of = |name| {
        let object = ObjectRef::namespaced("ServiceImport", "secure", name);
        Problem::error(object, Reason::TooLarge, "the config of its gateway is full")
    };
    for (name, expected) in [("payment", "Programmed False Invalid"), ("other", "Programmed True Programmed")] {
        let patch = scene.patch_with(&[of(name)], &Delivery::default()).unwrap();
        assert_eq!(summary(&patch.body["status"]["parents"][0])[2], expected, "{name}");
    }
}

#[test]
fn a_route_is_told_of_the_ports_that_calls_take_from_it() {
    let mut scene = Scene::new(&json!([parent("payment")]), &rule(&high()), &json!([]));
    let exported = json!({"cluster": "c1", "namespace": "secure", "name": "payment", "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"port": 8080}, {"port": 9090}], "readyPods": 1});
    let exported = json!({"metadata": {"name": "c1.secure.payment", "namespace": "mc-wan-registry"}, "spec": exported});
    let mut grpc = parent("payment");
    grpc["port"] = 9090.into();
    let calls = json!({"metadata": {"name": "calls", "namespace": "secure"},
        "spec": {"parentRefs": [grpc], "rules": rule(&high())}});
    for (kind, object) in [(InputKind::ExportedService, exported), (InputKind::Route(RouteKind::Grpc), calls)] {
        let changes = scene.snapshot.put(input::read(kind, &object).unwrap());
        scene.translator.update(&scene.snapshot, &changes);
    }
    let accepted = conditions(&scene.told()[0]).remove(0);
    assert_eq!(
        (accepted.status.as_str(), accepted.message.as_str()),
        ("True", "its rules hold for secure/payment; on 9090 those of GRPCRoutes do")
    );
}

/// As many as a route may have, and as there may be entries.
#[test]
fn each_of_32_parents_has_an_entry() {
    let parents: Vec<_> = (1..ENTRIES).map(|number| parent(&format!("p{number}"))).chain([parent("payment")]).collect();
    let scene = Scene::new(&json!(parents), &rule(&high()), &json!([]));
    let told = scene.told();
    let named: Vec<_> = told.iter().map(|entry| entry["parentRef"].clone()).collect();
    assert_eq!(named, parents);
    assert_eq!(summary(&told[0]), ["Accepted False NoMatchingParent"]);
    assert_eq!(summary(&told[ENTRIES - 1])[0], "Accepted True Accepted");
    let patch = scene.patch(&Delivery::default()).unwrap();
    assert!(!patch.news.iter().any(|news| news.message.contains("no room")), "{:?}", patch.news);
}

#[test]
fn what_others_say_stays_as_it_is() {
    let theirs = json!({"parentRef": {"name": "edge"}, "controllerName": "istio.io/gateway-controller",
        "conditions": [{"type": "Accepted", "odd": 1}]});
    let of_ours = |parent: Value, condition: &str| {
        json!({"parentRef": parent, "controllerName": CONTROLLER, "conditions": [{"type": condition, "status": "True",
            "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    };
    let before = json!([of_ours(parent("gone"), "Accepted"), theirs, of_ours(parent("payment"), "Foreign")]);
    let scene = Scene::new(&json!([parent("payment")]), &rule(&high()), &before);
    let told = scene.told();
    let [first, ours] = &told[..] else { panic!("what we said of a parent that went is removed: {told:?}") };
    assert_eq!(*first, theirs);
    assert!(summary(ours).contains(&"Foreign True R".to_owned()), "a condition of another writer: {ours}");

    let after = Scene::new(&json!([parent("payment")]), &rule(&high()), &json!(told));
    assert_eq!(after.patch(&Delivery::default()), None, "nothing is written that is there");
    let waiting = Delivery { gateways: GatewayState::Waiting("a pod".to_owned()), ..Delivery::default() };
    assert!(after.patch(&waiting).is_some(), "where the gateways are not there yet, that is said");
    let moved = Scene::new(&json!([{"name": "edge"}]), &rule(&high()), &json!(told));
    assert_eq!(moved.told(), [theirs], "its only parent of ours went");
}

#[test]
fn a_full_list_is_told_of_and_left_alone() {
    let theirs =
        |number: usize| json!({"parentRef": {"name": format!("g{number}")}, "controllerName": "x/y", "conditions": []});
    let before: Vec<_> = (0..ENTRIES).map(theirs).collect();
    let patch = Scene::new(&json!([parent("payment")]), &rule(&high()), &json!(before)).patch(&Delivery::default());
    let patch = patch.expect("people hear of it");
    assert_eq!(patch.body, Value::Null, "there is nothing to write");
    assert!(patch.news.iter().any(|news| news.message.contains("no room")), "{:?}", patch.news);
}

#[test]
fn a_parent_that_is_new_takes_no_room_from_one_that_is_told_already() {
    let theirs =
        |number: usize| json!({"parentRef": {"name": format!("g{number}")}, "controllerName": "x/y", "conditions": []});
    let ours = json!({"parentRef": parent("payment"), "controllerName": CONTROLLER, "conditions": []});
    let before: Vec<_> = (1..ENTRIES).map(theirs).chain([ours]).collect();
    let scene = Scene::new(&json!([parent("new"), parent("payment")]), &rule(&high()), &json!(before));
    let told = scene.told();
    assert_eq!(told.len(), ENTRIES, "the API server takes no more");
    assert_eq!(told[ENTRIES - 1]["parentRef"], parent("payment"));
    let patch = scene.patch(&Delivery::default()).unwrap();
    assert!(patch.news.iter().any(|news| news.message.contains("no room")), "{:?}", patch.news);
}

#[test]
fn what_a_route_of_before_was_told_is_told_anew() {
    let newer = json!([{"parentRef": parent("payment"), "controllerName": CONTROLLER, "conditions": [{"type": "Accepted",
        "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 3}]}]);
    let scene = Scene::new(&json!([parent("payment")]), &rule(&high()), &newer);
    let told = scene.told();
    let is_own = |said: &Condition| said.observed_generation == Some(2);
    assert!(conditions(&told[0]).iter().all(is_own), "a tool that makes a route anew may bring its status along");
}
