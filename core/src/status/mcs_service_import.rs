//! The status of a `ServiceImport` of the Multi-Cluster Services API.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::condition::{News, NewsType, Saying, Subject};
use super::{Delivery, StatusKind, StatusPatch, message};
use crate::api::{ClusterStatus, McsServiceImport, McsVersion};
use crate::json::put_at;
use crate::problem::{Problem, Reason, Severity};
use crate::snapshot::Key;
use crate::translate::Import;

/// What changes in the status: which clusters export the service, and whether clients reach it.
pub fn mcs_service_import(
    written: &McsServiceImport,
    version: McsVersion,
    import: &Import,
    delivery: &Delivery,
    is_native: bool,
    now: &Time,
) -> Option<StatusPatch> {
    let clusters = import.clusterset.iter().flat_map(|clusterset| &clusterset.clusters);
    let clusters: Vec<_> = clusters.map(|cluster| ClusterStatus { cluster: cluster.clone() }).collect();
    let ready = vec![ready(import, delivery, is_native)];
    let kind = StatusKind::McsServiceImport(version);
    let subject = Subject::mcs_service_import(written);
    let (mut patch, is_same) = subject.said(kind, &[McsServiceImport::READY], ready, now);
    if is_same && written.status.clusters == clusters {
        return None;
    }
    put_at(&mut patch.body, &["status", "clusters"], json!(clusters));
    Some(patch)
}

/// The news that clients must learn another address, as somebody else has theirs.
pub fn address_taken(written: &McsServiceImport, version: McsVersion, address: IpAddr) -> StatusPatch {
    let message = format!("its Service is made anew, and address {address} is taken: it gets another one");
    let news = News {
        condition: McsServiceImport::READY,
        news_type: NewsType::Warning,
        reason: Reason::AddressTaken,
        message,
    };
    let kind = StatusKind::McsServiceImport(version);
    let (key, uid) = (Key::of(&written.metadata), written.metadata.uid.clone());
    StatusPatch { kind, key, uid, body: Value::Null, news: vec![news] }
}

fn ready(import: &Import, delivery: &Delivery, is_native: bool) -> Saying {
    let not = |reason, message| Saying::new(McsServiceImport::READY, false, reason, message);
    // What is wrong with rules that somebody wrote, his ServiceImport tells.
    let is_bad = |problem: &&Problem| problem.severity == Severity::Error && import.rules.is_empty();
    if let Some(problem) = import.problems.iter().find(is_bad) {
        not(problem.reason, message::of_problems([problem], &import.object))
    } else if let Some((reason, message)) = delivery.failure() {
        not(reason, message)
    } else if let Some(message) = delivery.wait() {
        not(Reason::Pending, message)
    } else {
        let mut message = "the egress gateway serves it".to_owned();
        if is_native {
            message += "; natively not for requests whose host is the address: an HTTPRoute cannot name one";
        }
        Saying::new(McsServiceImport::READY, true, Reason::Ready, message)
    }
}
