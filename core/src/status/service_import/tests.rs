mod news;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::api::McsVersion;
use crate::emit::object::{Kind, ObjectId};
use crate::problem::FieldPath;
use crate::snapshot::Gathered;
use crate::snapshot::change::Change;
use crate::snapshot::{Key, Snapshot};
use crate::status::{GatewayState, ModuleState, News, NewsType};
use crate::translate::{FrontEnds, Options, Origin, RouteOptions, Steering, Translator, Trust};

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
spec: {cluster: c1, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 8080}], gateways: [10.20.0.7]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: secure}
spec: {type: ExternalName, externalName: example.com}
---
";

const SOUND: &str = "{backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}";

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

/// The status of the import `payment.secure` with a spec, in this world.
fn patch(world: &str, spec: &str, emitted: &[Problem], delivery: &Delivery) -> StatusPatch {
    patch_judged(world, spec, emitted, delivery, |_| {})
}

/// The same in a world that is changed at first.
fn patch_judged(
    world: &str,
    spec: &str,
    emitted: &[Problem],
    delivery: &Delivery,
    change: impl FnOnce(&mut Snapshot),
) -> StatusPatch {
    patch_changed(world, spec, emitted, delivery, change, |_| {})
}

/// The same of an import that is changed, too.
fn patch_changed(
    world: &str,
    spec: &str,
    emitted: &[Problem],
    delivery: &Delivery,
    change: impl FnOnce(&mut Snapshot),
    change_import: impl FnOnce(&mut Import),
) -> StatusPatch {
    let head = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ServiceImport";
    let import = format!("{head}\nmetadata: {{name: payment, namespace: secure, generation: 7}}\nspec: {spec}\n");
    let mut gathered = Gathered::from_text("test.yaml", &format!("{world}{import}"));
    assert!(gathered.is_complete(), "{:?}", gathered.findings);
    change(&mut gathered.snapshot);
    let mut translator = Translator::new(Options {
        cluster: None,
        steering_key: "a key of many letters".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    });
    translator.update(&gathered.snapshot, &[Change::Everything]);
    let subject = Subject::service_import(gathered.snapshot.service_imports.get("secure", "payment").unwrap());
    let mut import = Import::clone(translator.imports().get("secure", "payment").unwrap());
    change_import(&mut import);
    service_import(subject, &import, translator.exports(), emitted, delivery, &at(1)).unwrap()
}

fn conditions(patch: &StatusPatch) -> Vec<Condition> {
    serde_json::from_value(patch.body["status"]["conditions"].clone()).unwrap()
}

/// Type, status and reason of every condition, as in `Accepted=True/Accepted`.
fn summary(patch: &StatusPatch) -> String {
    let texts = conditions(patch).into_iter().map(|one| format!("{}={}/{}", one.type_, one.status, one.reason));
    texts.collect::<Vec<_>>().join(" ")
}

fn rules(rules: &str) -> String {
    format!("{{http: {{rules: [{rules}]}}}}")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_problem_is_told_in_its_condition() {
    let good = "Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed";
    let unresolved = |reason| good.replace("ResolvedRefs=True/ResolvedRefs", &format!("ResolvedRefs=False/{reason}"));
    let refused = |reason: &str| {
        let refused = good.replace("Accepted=True/Accepted", &format!("Accepted=False/{reason}"));
        refused.replace("Programmed=True/Programmed", "Programmed=False/Invalid")
    };
    let partially = |reason| good.replace(" Res", &format!(" PartiallyInvalid=True/{reason} Res"));
    let redirect = "{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: ExtensionRef, extensionRef: {group: a, kind: b, name: c}}]}";
    let table = [
        (WORLD.to_owned(), rules(SOUND), good.to_owned(), "", "sound"),
        (
            WORLD.to_owned(),
            rules(&format!("{SOUND}, {{backendRefs: [{{group: mc-wan.l7mp.io, kind: WANPolicy, name: hihg}}]}}")),
            unresolved("BackendNotFound"),
            "spec.http.rules[1].backendRefs[0]: there is no WANPolicy hihg",
            "an unknown tier",
        ),
        (
            WORLD.to_owned(),
            rules("{backendRefs: [{name: missing, port: 80}]}"),
            unresolved("BackendNotFound"),
            "there is no Service secure/missing",
            "a missing Service",
        ),
        (
            WORLD.to_owned(),
            rules("{backendRefs: [{name: outside, port: 80}]}"),
            unresolved("BackendNotFound"),
            "Service secure/outside is of type ExternalName",
            "an ExternalName Service",
        ),
        (
            WORLD.to_owned(),
            rules("{backendRefs: [{name: other, namespace: elsewhere, port: 80}]}"),
            unresolved("RefNotPermitted"),
            "no ReferenceGrant of namespace elsewhere",
            "a Service of another namespace",
        ),
        (
            WORLD.to_owned(),
            rules(&format!("{SOUND}, {{}}")),
            unresolved("NoBackend"),
            "spec.http.rules[1].backendRefs: no backend",
            "a rule without a backend",
        ),
        (
            WORLD.to_owned(),
            rules(&format!("{SOUND}, {redirect}")),
            partially("UnsupportedFilter"),
            "spec.http.rules[1].filters[1]: mcwan has no extension filters (UnsupportedFilter)",
            "one of two rules",
        ),
        (WORLD.to_owned(), rules(redirect), refused("UnsupportedFilter"), "spec.http.rules[0]", "every rule"),
        (
            WORLD.to_owned(),
            rules(&format!(
                "{SOUND}, {{matches: [{{path: {{type: RegularExpression, value: '('}}}}], backendRefs: [{{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}}]}}"
            )),
            refused("InvalidMatch"),
            "spec.http.rules[1].matches[0]",
            "a match that cannot be read",
        ),
        (
            WORLD.replace("name: c1, ", "name: c2, "),
            rules(SOUND),
            unresolved("BackendNotFound"),
            "ExportedService mc-wan-registry/c1.secure.payment: spec.cluster: there is no WANCluster c1",
            "an export of an unknown cluster",
        ),
        (
            WORLD.replace("name: high, port: 31111", "name: high, port: 31112"),
            rules(SOUND),
            unresolved("BackendNotFound"),
            "WANCluster mc-wan-registry/c1: spec.tiers: tier high has port 31112 there and 31111 here",
            "a tier with another port",
        ),
        (
            WORLD.replace(", gateways: [10.20.0.7]", ""),
            rules(SOUND),
            unresolved("NoAddress"),
            "no ingress gateway has an address yet",
            "an export without an address",
        ),
        (
            WORLD
                .replace("namespace: secure, name: payment", "namespace: secure, name: stats")
                .replace("c1.secure.payment", "c1.secure.stats"),
            rules(SOUND),
            unresolved("BackendNotFound"),
            "no cluster exports secure/payment",
            "no export",
        ),
    ];
    for (world, spec, expected, message, row) in table {
        let patch = patch(&world, &spec, &[], &Delivery::default());
        assert_eq!(summary(&patch), expected, "{row}");
        let text = patch.body.to_string();
        assert!(text.contains(message), "{row}: {message}: {text}");
        for condition in conditions(&patch) {
            assert_eq!(condition.observed_generation, Some(7), "{row}: of which generation");
        }
    }
}

#[test]
fn what_emission_finds_is_told_by_the_import_that_it_concerns() {
    let object = |name: &str| crate::problem::ObjectRef::namespaced("ServiceImport", "secure", name);
    let full = |name: &str| Problem::error(object(name), Reason::TooLarge, "the config is full");
    let told = summary(&patch(WORLD, &rules(SOUND), &[full("other"), full("payment")], &Delivery::default()));
    assert!(told.starts_with("Accepted=False/TooLarge"), "{told}");
    let told = summary(&patch(WORLD, &rules(SOUND), &[full("other")], &Delivery::default()));
    assert!(told.starts_with("Accepted=True/Accepted"), "{told}");
    let host = Problem::error(object("payment"), Reason::HostConflict, "host a belongs to the older b");
    let told = summary(&patch(WORLD, &rules(SOUND), &[host], &Delivery::default()));
    assert!(told.starts_with("Accepted=True/Accepted PartiallyInvalid=True/HostConflict"), "{told}");
}

#[test]
fn a_rule_is_told_by_its_origin_whatever_that_is() {
    let origin = |rule: usize| {
        let object = Arc::new(ObjectRef::namespaced("HTTPRoute", "secure", "pay"));
        Origin {
            name: None,
            object,
            group: "gateway.networking.k8s.io",
            field: FieldPath::from("spec.rules").index(rule),
        }
    };
    let table: [(&[usize], _, _); 3] = [
        (&[], "Accepted=True/Accepted R", "no rule"),
        (&[1], "Accepted=True/Accepted PartiallyInvalid=True/UnsupportedFilter R", "one of two rules"),
        (&[0, 1], "Accepted=False/UnsupportedFilter R", "every rule"),
    ];
    for (wrong, expected, message) in table {
        let field = || FieldPath::from("filters").index(0);
        let error = |rule: &usize| origin(*rule).error(field(), Reason::UnsupportedFilter, "no such filter");
        let emitted: Vec<_> = wrong.iter().map(error).collect();
        let move_rules = |import: &mut Import| {
            import.rules.iter_mut().enumerate().for_each(|(index, rule)| *rule = origin(index));
        };
        let spec = rules(&[SOUND, SOUND].join(", "));
        let patch = patch_changed(WORLD, &spec, &emitted, &Delivery::default(), |_| {}, move_rules);
        assert!(summary(&patch).starts_with(expected), "{message}: {}", summary(&patch));
        let named = conditions(&patch).iter().any(|one| one.message.contains("HTTPRoute secure/pay: spec.rules[1]"));
        assert_eq!(named, !wrong.is_empty(), "{message}");
    }
}

#[test]
fn programmed_says_what_is_in_the_way() {
    let route = || ObjectId { kind: Kind::HttpRoute, key: Key::new("secure", "payment.8080") };
    let table = [
        (Delivery { pending: vec![route()], ..Delivery::default() }, "False/Pending", "HTTPRoute secure/payment.8080"),
        (
            Delivery { conflicts: vec![route()], pending: vec![route()], ..Delivery::default() },
            "False/Conflict",
            "somebody else owns HTTPRoute secure/payment.8080",
        ),
        (
            Delivery { refused: vec![(route(), "spec is wrong".to_owned())], ..Delivery::default() },
            "False/Refused",
            "HTTPRoute secure/payment.8080: spec is wrong",
        ),
        (
            Delivery { module: ModuleState::NotFetched("no such host".to_owned()), ..Delivery::default() },
            "False/ModuleNotFetched",
            "no such host",
        ),
        (Delivery { module: ModuleState::Unknown, ..Delivery::default() }, "False/Pending", "module"),
        (
            Delivery { gateways: GatewayState::Waiting("0 of 2 pods".to_owned()), ..Delivery::default() },
            "False/Pending",
            "0 of 2 pods",
        ),
        (
            Delivery { gateways: GatewayState::Failed("it traps".to_owned()), ..Delivery::default() },
            "False/ConfigNotLoaded",
            "it traps",
        ),
        (Delivery { module: ModuleState::Fetchable, ..Delivery::default() }, "True/Programmed", "do what"),
    ];
    for (delivery, expected, message) in table {
        let patch = patch(WORLD, &rules(SOUND), &[], &delivery);
        let programmed = conditions(&patch).pop().unwrap();
        assert_eq!(format!("{}/{}", programmed.status, programmed.reason), expected, "{delivery:?}");
        assert!(programmed.message.contains(message), "{message}: {}", programmed.message);
    }
}
