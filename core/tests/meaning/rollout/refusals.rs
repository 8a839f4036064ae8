//! What the API server does not take.

use std::collections::BTreeSet;

use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::emit::object::Kind;
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::Event;
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{Play, mk_input, no_quota};
use crate::translator::mk;

/// The Services that routes lead to and that are not there.
fn missing(play: &Play) -> BTreeSet<&str> {
    let routes = play.objects.iter().filter(|(id, _)| id.kind == Kind::HttpRoute);
    let rules = routes.flat_map(|(_, (route, _))| route["spec"]["rules"].as_array().into_iter().flatten());
    let backends = rules.flat_map(|rule| rule["backendRefs"].as_array().into_iter().flatten());
    let names = backends.filter(|backend| backend["namespace"] == TIER_NAMESPACE).filter_map(|it| it["name"].as_str());
    let is_there = |name: &&str| {
        play.objects.keys().any(|id| id.kind == Kind::Service && id.key == Key::new(TIER_NAMESPACE, *name))
    };
    names.filter(|name| !is_there(name)).collect()
}

/// Who gives no answer refuses nothing, however long that lasts.
#[test]
fn routes_wait_for_what_they_lead_to_unless_that_is_refused() {
    let unanswered = (Kind::Service, WriteError::passing(Reason::Timeout, "no answer"));
    for (refused, waits, message) in [(unanswered, true, "no answer"), (no_quota(Kind::Service), false, "a refusal")] {
        let mut play = Play::of_payment();
        play.pass(60);
        play.refused = Some(refused);
        // Of two clusters, each has a Service of its own.
        let tiers = json!({"tiers": [{"name": "high", "port": 31_111}, {"name": "low", "port": 31_112}]});
        let exported = json!({"cluster": "near", "namespace": "secure", "name": "payment", "readyPods": 1,
            "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": 8080}], "gateways": ["10.30.0.7"]});
        let objects = [
            (Kind::WanCluster, mk("WANCluster", REGISTRY_NAMESPACE, "near", &tiers)),
            (Kind::ExportedService, mk("ExportedService", REGISTRY_NAMESPACE, "near.secure.payment", &exported)),
        ];
        for (kind, object) in objects {
            play.happen(Event::Watch(mk_input(Watched::Emitted(kind), object)));
        }
        play.pass(120);
        assert_eq!(missing(&play).is_empty(), waits, "{message}: {:?}", missing(&play));
        play.refused = None;
        play.pass(120);
        assert_eq!(missing(&play), BTreeSet::new(), "{message}: they are there in the end");
    }
}
