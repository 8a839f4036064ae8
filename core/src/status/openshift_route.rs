//! What the `Route`s of `OpenShift` are told (`RouteIngress`).
//!
//! `status.ingress` is one list for all routers, and whoever writes it replaces it whole: it is read, changed and written,
//! and refused where somebody else was faster. Others' entries stay as they are. Conditions there know no generation, and
//! that of a route that is admitted has no reason.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::condition::{ADMITTED, RESOLVED_REFS, Saying, Subject};
use super::{StatusKind, StatusPatch, message};
use crate::api::OpenshiftRoute;
use crate::json::put_at;
use crate::problem::{Effect, ObjectRef, Problem, Reason};
use crate::translate::Admission;

const OURS: [&str; 2] = [ADMITTED, RESOLVED_REFS];

/// What changes in what a route is told by a router of this name. `import`: what the routes of its namespace are together;
/// `emitted`: what was found wrong when the objects of that were made.
pub fn openshift_route<'p>(
    route: &OpenshiftRoute,
    (import, admission): (&ObjectRef, &Admission),
    emitted: impl IntoIterator<Item = &'p Problem>,
    router: &str,
    now: &Time,
) -> Option<StatusPatch> {
    let is_ours = |entry: &&Value| entry.get("routerName").and_then(Value::as_str) == Some(router);
    let place = route.told().iter().position(|entry| is_ours(&entry));
    let before = place.and_then(|place| route.told().get(place));
    let conditions = before.map(conditions).unwrap_or_default();
    let metadata = ObjectMeta { generation: None, ..route.metadata.clone() };
    let subject = Subject { metadata: &metadata, conditions: &conditions };
    let (mut patch, _) =
        subject.said(StatusKind::OpenshiftRoute, &OURS, sayings(route, (import, admission), emitted), now);
    let mut said = patch.body.pointer("/status/conditions").cloned().unwrap_or_default();
    for condition in said.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if condition.get("reason").and_then(Value::as_str) == Some(&Reason::Accepted.to_string()) {
            condition.remove("reason");
        }
        condition.retain(|_, value| value.as_str() != Some(""));
    }
    let mut entry = json!({"routerName": router, "wildcardPolicy": "None", "conditions": said});
    if let Some(host) = &admission.host {
        put_at(&mut entry, &["host"], host.as_str());
    }
    if before == Some(&entry) {
        return None;
    }
    let mut ingress = route.told().to_vec();
    match place.and_then(|place| ingress.get_mut(place)) {
        Some(place) => *place = entry,
        None => ingress.push(entry),
    }
    put_at(&mut patch.body, &["metadata", "resourceVersion"], route.metadata.resource_version.clone());
    put_at(&mut patch.body, &["status"], json!({"ingress": ingress}));
    Some(patch)
}

fn sayings<'p>(
    route: &OpenshiftRoute,
    (import, admission): (&ObjectRef, &Admission),
    emitted: impl IntoIterator<Item = &'p Problem>,
) -> Vec<Saying> {
    let object = route.object();
    // What is wrong with all of them is wrong with each.
    let is_own = |problem: &&Problem| problem.object == object || problem.object == *import;
    let own = emitted.into_iter().filter(|problem| problem.reason.effect() != Effect::Harmless).filter(is_own);
    let (unresolved, wrong): (Vec<_>, Vec<_>) = own.partition(|problem| problem.reason.effect() == Effect::Unresolved);
    let weightiest = |problems: &[&Problem]| problems.iter().map(|problem| problem.reason).min();
    let admitted = match &admission.admitted {
        Err((reason, why)) => Saying::new(ADMITTED, false, *reason, message::joined([why.clone()])),
        Ok(note) => match weightiest(&wrong) {
            None => Saying::new(ADMITTED, true, Reason::Accepted, message::joined([note.clone()])),
            Some(weightiest) => {
                let reason = match weightiest {
                    Reason::TooLarge => Reason::TooLarge,
                    Reason::HostConflict => Reason::HostAlreadyClaimed,
                    _ => Reason::UnsupportedValue,
                };
                Saying::new(ADMITTED, false, reason, message::of_problems(wrong, &object))
            }
        },
    };
    if !admitted.status {
        return vec![admitted];
    }
    let resolved = match (&admission.unresolved, weightiest(&unresolved)) {
        (Some((reason, why)), _) => Saying::new(RESOLVED_REFS, false, *reason, message::joined([why.clone()])),
        (None, Some(reason)) => Saying::new(RESOLVED_REFS, false, reason, message::of_problems(unresolved, &object)),
        (None, None) => Saying::new(RESOLVED_REFS, true, Reason::ResolvedRefs, "all that it names is there"),
    };
    vec![admitted, resolved]
}

/// The conditions of an entry, as others have them.
fn conditions(entry: &Value) -> Vec<Condition> {
    let read = |said: &Value| {
        let text = |field: &str| said.get(field).and_then(Value::as_str);
        let since: Option<Timestamp> = text("lastTransitionTime").and_then(|time| time.parse().ok());
        Some(Condition {
            type_: text("type")?.to_owned(),
            status: text("status")?.to_owned(),
            reason: text("reason").map_or_else(|| Reason::Accepted.to_string(), str::to_owned),
            message: text("message").unwrap_or_default().to_owned(),
            observed_generation: None,
            last_transition_time: Time(since.unwrap_or(Timestamp::UNIX_EPOCH)),
        })
    };
    let all = entry.get("conditions").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_route(ingress: &Value) -> OpenshiftRoute {
        let metadata = json!({"name": "shop", "namespace": "secure", "generation": 3, "resourceVersion": "7"});
        serde_json::from_value(json!({"metadata": metadata, "status": {"ingress": ingress}})).unwrap()
    }

    fn mk_admission(admitted: Result<&str, (Reason, &str)>) -> Admission {
        Admission {
            host: Some("shop.example.com".to_owned()),
            admitted: admitted.map(str::to_owned).map_err(|(reason, why)| (reason, why.to_owned())),
            unresolved: None,
        }
    }

    fn told(ingress: &Value, admitted: Result<&str, (Reason, &str)>) -> Option<Value> {
        told_of(ingress, admitted, &[])
    }

    /// The same where this was found wrong.
    fn told_of(ingress: &Value, admitted: Result<&str, (Reason, &str)>, emitted: &[Problem]) -> Option<Value> {
        let now = Time(Timestamp::UNIX_EPOCH);
        let (import, admission) = (ObjectRef::cluster("Namespace", "secure"), mk_admission(admitted));
        let patch = openshift_route(&mk_route(ingress), (&import, &admission), emitted, "mcwan", &now)?;
        assert_eq!(patch.body["metadata"]["resourceVersion"], "7", "refused where somebody else was faster");
        Some(patch.body["status"]["ingress"].clone())
    }

    #[test]
    fn others_are_left_alone_and_what_is_said_is_said_once() {
        let other = json!({"routerName": "default", "host": "x", "odd": [1.0, null]});
        let ours = told(&json!([other]), Ok("")).unwrap();
        assert_eq!(ours[0], other);
        let admitted = &ours[1]["conditions"][0];
        assert_eq!((&admitted["type"], &admitted["status"]), (&json!("Admitted"), &json!("True")));
        assert!(admitted.get("reason").is_none() && admitted.get("observedGeneration").is_none(), "{admitted}");
        assert_eq!(ours[1]["host"], "shop.example.com");
        assert_eq!(told(&ours, Ok("")), None, "nothing changed");
        let refused = told(&ours, Err((Reason::HostAlreadyClaimed, "older"))).unwrap();
        assert_eq!(refused[1]["conditions"][0]["reason"], "HostAlreadyClaimed");
        assert_eq!(
            refused[1]["conditions"].as_array().unwrap().len(),
            1,
            "of one that is refused, no backends are told"
        );
        assert_eq!(told(&refused, Err((Reason::HostAlreadyClaimed, "older"))), None);
        assert_eq!(refused[0], other);
    }

    #[test]
    fn null_in_what_is_told_loses_nothing() {
        let ours = told(&json!(null), Ok("")).unwrap();
        assert_eq!(ours.as_array().unwrap().len(), 1, "nobody has told anything");
        let mut odd = json!([null, {"routerName": "default", "conditions": null}, ours[0]]);
        assert_eq!(told(&odd, Ok("")), None, "nothing changed");
        odd[2]["conditions"] = json!(null);
        let again = told(&odd, Ok("")).unwrap();
        assert_eq!((&again[0], &again[1]), (&odd[0], &odd[1]));
        assert_eq!(again[2], ours[0], "ours is told again");
    }

    #[test]
    fn what_is_wrong_with_all_is_told_to_each() {
        let all = || ObjectRef::cluster("Namespace", "secure");
        let own = || ObjectRef::namespaced("Route", "secure", "shop");
        let other = ObjectRef::namespaced("Route", "secure", "other");
        for (object, reason, expected, message) in [
            (all(), Reason::TooLarge, json!("TooLarge"), "the filter's config is full"),
            (own(), Reason::TooLarge, json!("TooLarge"), "no listener is left"),
            (own(), Reason::HostConflict, json!("HostAlreadyClaimed"), "an import has the host"),
            (own(), Reason::InvalidFilter, json!("UnsupportedValue"), "no route can say it"),
            (own(), Reason::NameTooLong, json!(null), "it changes nothing"),
            (other, Reason::TooLarge, json!(null), "another's"),
        ] {
            let told = told_of(&json!([]), Ok(""), &[Problem::error(object, reason, "so it is")]).unwrap();
            let admitted = &told[0]["conditions"][0];
            assert_eq!(
                (&admitted["reason"], &admitted["status"] == "True"),
                (&expected, expected.is_null()),
                "{message}"
            );
        }
    }
}
