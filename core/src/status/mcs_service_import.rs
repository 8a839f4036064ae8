//! The status of a `ServiceImport` of the Multi-Cluster Services API.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::condition::{News, NewsType, Saying, Subject};
use super::{Delivery, GatewayState, StatusKind, StatusPatch, message};
use crate::api::{ClusterStatus, McsServiceImport, McsVersion};
use crate::json::put_at;
use crate::problem::{Effect, Problem, Reason, Severity};
use crate::snapshot::Key;
use crate::translate::Import;

/// What an import is like in this cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Whether Gateway API's routes apply its rules.
    pub is_native: bool,
    /// Whether the API's slices of it are there.
    pub has_slices: bool,
}

/// What changes in the status: which clusters export the service, and whether clients reach it. `emitted`: what was found wrong
/// when its objects were made.
pub fn mcs_service_import<'p>(
    written: &McsServiceImport,
    version: McsVersion,
    import: &Import,
    emitted: impl IntoIterator<Item = &'p Problem>,
    delivery: &Delivery,
    shape: Shape,
    now: &Time,
) -> Option<StatusPatch> {
    let clusters = import.clusterset.iter().flat_map(|clusterset| &clusterset.clusters);
    let clusters: Vec<_> = clusters.map(|cluster| ClusterStatus { cluster: cluster.clone() }).collect();
    let slices = if shape.has_slices { "Present" } else { "Absent" };
    let ready = vec![ready(import, emitted, delivery, shape.is_native)];
    let kind = StatusKind::McsServiceImport(version);
    let subject = Subject::mcs_service_import(written);
    let (mut patch, is_same) = subject.said(kind, &[McsServiceImport::READY], ready, now);
    // An older definition does not keep what is said of slices: it is no reason to say all again.
    let is_said = written.status.endpoint_slice_objects.as_deref().is_none_or(|said| said == slices);
    if is_same && is_said && written.status.clusters == clusters {
        return None;
    }
    put_at(&mut patch.body, &["status", "clusters"], json!(clusters));
    put_at(&mut patch.body, &["status", "endpointSliceObjects"], slices);
    Some(patch)
}

/// The news that clients must learn another address, as somebody else has theirs.
pub fn address_taken(written: &McsServiceImport, version: McsVersion, address: IpAddr) -> StatusPatch {
    let message = format!("its Service is made anew, and address {address} is taken: it gets another one");
    let news = News { news_type: NewsType::Warning, reason: Reason::AddressTaken, message };
    let kind = StatusKind::McsServiceImport(version);
    let (key, uid) = (Key::of(&written.metadata), written.metadata.uid.clone());
    StatusPatch { kind, key, uid, body: Value::Null, news: vec![news] }
}

fn ready<'p>(
    import: &Import,
    emitted: impl IntoIterator<Item = &'p Problem>,
    delivery: &Delivery,
    is_native: bool,
) -> Saying {
    let not = |reason, message| Saying::new(McsServiceImport::READY, false, reason, message);
    // What is wrong with rules that somebody wrote, his ServiceImport tells.
    let is_bad = |problem: &&Problem| problem.severity == Severity::Error && import.rules.is_empty();
    let is_refusal = |problem: &&Problem| problem.object == import.object && problem.reason.effect() == Effect::Refused;
    let bad = import.problems.iter().find(is_bad).or_else(|| emitted.into_iter().find(is_refusal));
    if let Some(problem) = bad {
        not(problem.reason, message::of_problems([problem], &import.object))
    } else if let Some((reason, message)) = delivery.failure() {
        not(reason, message)
    } else if let Some(message) = delivery.wait() {
        not(Reason::Pending, message)
    } else if let GatewayState::Failed(error) = &delivery.gateways {
        not(Reason::ConfigNotLoaded, message::joined([error.clone()]))
    } else {
        let mut told = Vec::new();
        if !import.ports.is_empty() {
            told.push("the egress gateway serves it".to_owned());
        }
        if is_native {
            told.push("natively not for requests whose host is the address: an HTTPRoute cannot name one".to_owned());
        }
        told.extend(pods(import));
        Saying::new(McsServiceImport::READY, true, Reason::Ready, message::joined(told))
    }
}

/// What is said of the ports that are not HTTP's: no gateway serves them.
fn pods(import: &Import) -> Vec<String> {
    let Some(clusterset) = &import.clusterset else { return Vec::new() };
    if clusterset.is_headless() {
        let far = (!clusterset.far.is_empty()).then(|| clusterset.far.join(", "));
        return far
            .map(|far| format!("its name leads to no pods of {far}: they are on another network"))
            .into_iter()
            .collect();
    }
    let names: Vec<_> = clusterset.ports.iter().filter(|port| !port.is_http()).map(ToString::to_string).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let names = names.join(", ");
    if import.direct.is_empty() {
        return vec![format!("{names} not carried, as rules of {} could not hold there", import.object)];
    }
    let near = import.direct.iter().any(|direct| !direct.near.is_empty());
    let far: BTreeSet<_> = import.direct.iter().flat_map(|direct| &direct.far).map(String::as_str).collect();
    let mut told = Vec::new();
    if near {
        told.push(format!("{names} straight to pods"));
    }
    if !far.is_empty() {
        let far = far.into_iter().collect::<Vec<_>>().join(", ");
        told.push(format!("{names} not from {far}: no pods are reached on another network"));
    }
    told
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::mcs_service_import::McsServiceImportStatus;
    use crate::snapshot::Gathered;
    use crate::snapshot::change::Change;
    use crate::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};

    const CLUSTER: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: NAME, namespace: mc-wan-registry}
spec: {tiers: [{name: high, port: 31111}]}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: NAME.secure.payment, namespace: mc-wan-registry}
spec: {cluster: NAME, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 8080}], MORE}
---
";
    const TIER: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANPolicy
metadata: {name: high}
spec: {port: 31111}
";

    fn mk_import(clusters: &[&str], more: &str) -> Import {
        let clusters = clusters.iter().map(|name| CLUSTER.replace("NAME", name).replace("MORE", more));
        let snapshot = Gathered::from_text("test.yaml", &(clusters.collect::<String>() + TIER)).snapshot;
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
        translator.update(&snapshot, &[Change::Everything]);
        Import::clone(translator.imports().get("secure", "payment").unwrap())
    }

    fn patch(written: &McsServiceImport, import: &Import, delivery: &Delivery, is_native: bool) -> Option<StatusPatch> {
        let now = Time(Timestamp::UNIX_EPOCH);
        let shape = Shape { is_native, has_slices: false };
        mcs_service_import(written, McsVersion::V1Beta1, import, [], delivery, shape, &now)
    }

    #[test]
    fn it_says_whether_clients_reach_the_service() {
        let high = "defaultTier: high, gateways: [10.20.0.7]";
        let waiting = GatewayState::Waiting("no pod of Gateway secure/mcwan-egress is ready".to_owned());
        let waiting = Delivery { gateways: waiting, ..Delivery::default() };
        let failed = GatewayState::Failed("2 of 2 pods could not fetch the module".to_owned());
        let failed = Delivery { gateways: failed, ..Delivery::default() };
        let table = [
            (high, failed, false, "False/ConfigNotLoaded", "could not fetch", "no gateway has the module"),
            (high, Delivery::default(), false, "True/Ready", "the egress gateway serves it", "all is well"),
            (high, Delivery::default(), true, "True/Ready", "an HTTPRoute cannot name one", "natively"),
            (high, waiting, false, "False/Pending", "no pod of Gateway", "no gateway is there"),
            ("gateways: [10.20.0.7]", Delivery::default(), false, "False/NoTier", "default tier", "no tier is named"),
        ];
        for (more, delivery, is_native, expected, words, message) in table {
            let patch =
                patch(&McsServiceImport::default(), &mk_import(&["c2", "c1"], more), &delivery, is_native).unwrap();
            let ready = &patch.body["status"]["conditions"][0];
            let said = format!("{}/{}", ready["status"].as_str().unwrap(), ready["reason"].as_str().unwrap());
            assert_eq!((ready["type"].as_str(), &*said), (Some("Ready"), expected), "{message}");
            assert!(ready["message"].as_str().unwrap().contains(words), "{message}: {ready}");
            assert_eq!(patch.body["status"]["clusters"], json!([{"cluster": "c1"}, {"cluster": "c2"}]), "{message}");
            assert_eq!(patch.body["apiVersion"], "multicluster.x-k8s.io/v1beta1");
        }
    }

    #[test]
    fn what_its_gateway_has_no_room_for_is_not_ready() {
        let import = mk_import(&["c1"], "defaultTier: high, gateways: [10.20.0.7]");
        let full = Problem::error(import.object.clone(), Reason::TooLarge, "the config of its gateway is full");
        let ready = ready(&import, [&full], &Delivery::default(), false);
        assert_eq!((ready.status, ready.reason), (false, Reason::TooLarge));
    }

    #[test]
    fn what_is_so_already_is_not_said_again() {
        let import = mk_import(&["c1"], "defaultTier: high, gateways: [10.20.0.7]");
        let said = patch(&McsServiceImport::default(), &import, &Delivery::default(), false).unwrap();
        let status = serde_json::from_value(said.body["status"].clone()).unwrap();
        let written = McsServiceImport { status, ..McsServiceImport::default() };
        assert_eq!(patch(&written, &import, &Delivery::default(), false), None);
        let more = mk_import(&["c1", "c2"], "defaultTier: high, gateways: [10.20.0.7]");
        let patch = patch(&written, &more, &Delivery::default(), false).unwrap();
        assert_eq!(patch.body["status"]["clusters"], json!([{"cluster": "c1"}, {"cluster": "c2"}]));
        assert_eq!(patch.news, [], "who exports it is no news");
    }

    #[test]
    fn slices_are_told_of_where_the_definition_has_a_field_for_them() {
        let import = mk_import(&["c1"], "defaultTier: high, gateways: [10.20.0.7]");
        let say = |written: &McsServiceImport, has_slices| {
            let (shape, now) = (Shape { is_native: false, has_slices }, Time(Timestamp::UNIX_EPOCH));
            let patch =
                mcs_service_import(written, McsVersion::V1Beta1, &import, [], &Delivery::default(), shape, &now);
            patch.map(|patch| patch.body["status"].clone())
        };
        let said = say(&McsServiceImport::default(), true).unwrap();
        assert_eq!(said["endpointSliceObjects"], "Present");
        let status: McsServiceImportStatus = serde_json::from_value(said).unwrap();
        let mut written = McsServiceImport { status, ..McsServiceImport::default() };
        assert_eq!(say(&written, true), None);
        assert_eq!(say(&written, false).unwrap()["endpointSliceObjects"], "Absent");
        written.status.endpoint_slice_objects = None;
        assert_eq!(say(&written, false), None, "an older definition keeps nothing of it");
    }
}
