//! The status of a `ClusterConnection`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::condition::{Saying, Subject};
use super::{StatusKind, StatusPatch, message};
use crate::api::{ClusterConnection, ClusterConnectionStatus};
use crate::connection::Connection;
use crate::json::put_at;
use crate::liveness::Liveness;
use crate::problem::Reason;

/// What changes in the status: which tiers the two clusters may use, by which policy, and whether the other one is alive.
pub fn cluster_connection(
    written: &ClusterConnection,
    connection: &Connection,
    liveness: Liveness,
    now: &Time,
) -> Option<StatusPatch> {
    let status = connection.status(liveness);
    let ours = [ClusterConnection::PERMITTED, ClusterConnection::CONFLICTED];
    let sayings = vec![permitted(connection), conflicted(connection)];
    let subject = Subject::cluster_connection(written);
    let (mut patch, is_same) = subject.said(StatusKind::ClusterConnection, &ours, sayings, now);
    let before = written.status.clone().unwrap_or_default();
    if is_same && status == (ClusterConnectionStatus { conditions: Vec::new(), ..before }) {
        return None;
    }
    if let Value::Object(fields) = json!(status) {
        for (field, value) in fields {
            put_at(&mut patch.body, &["status", &field], value);
        }
    }
    Some(patch)
}

fn permitted(connection: &Connection) -> Saying {
    let names: Vec<_> = connection.permitted().map(|tier| &*tier.name).collect();
    match connection.why_none() {
        None => {
            let message = message::joined([format!("{}: {}", connection.basis(), names.join(", "))]);
            Saying::new(ClusterConnection::PERMITTED, true, Reason::Permitted, message)
        }
        Some(reason) => {
            let refused = connection.tiers.iter().filter_map(|tier| Some((tier, tier.refusal?)));
            let refused = refused.map(|(tier, refusal)| format!("{} {}", tier.name, refusal.reason));
            let message = message::joined([connection.basis()].into_iter().chain(refused));
            Saying::new(ClusterConnection::PERMITTED, false, reason, message)
        }
    }
}

fn conflicted(connection: &Connection) -> Saying {
    let is_conflict = !connection.conflicting.is_empty();
    let reason = if is_conflict { Reason::PolicyConflict } else { Reason::NoConflicts };
    Saying::new(ClusterConnection::CONFLICTED, is_conflict, reason, message::joined([connection.basis()]))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::connection::Connections;
    use crate::snapshot::Gathered;

    const CLUSTERS: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: a, namespace: mc-wan-registry}
spec: {tiers: [{name: high, port: 1}, {name: low, port: 2}, {name: sec, port: 3, cableDriver: ipsec}]}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: b, namespace: mc-wan-registry}
spec: {tiers: [{name: high, port: 1}, {name: low, port: 20}, {name: sec, port: 3, cableDriver: ipsec}]}
";

    fn mk_connection(policies: &[(&str, &str)]) -> Connection {
        let mk = |(name, spec): &(&str, &str)| {
            format!(
                "---\napiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\n\
                 metadata: {{name: {name}, namespace: mc-wan-registry}}\nspec: {spec}\n"
            )
        };
        let text = CLUSTERS.to_owned() + &policies.iter().map(mk).collect::<String>();
        Connections::new(&Gathered::from_text("test.yaml", &text).snapshot).between("a", "b").unwrap()
    }

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn written(patch: &StatusPatch) -> ClusterConnection {
        let status = serde_json::from_value(patch.body["status"].clone()).unwrap();
        ClusterConnection { status: Some(status), ..ClusterConnection::default() }
    }

    #[test]
    fn it_says_which_tiers_may_be_used_and_why_not() {
        let (live, stale) = (Liveness::Live, Liveness::Stale);
        let oldest = ("default", "{noConnectOnConflict: false}");
        let table = [
            (vec![], live, "Connected", "True/Permitted", "no policy matches: high", "no policy"),
            (vec![], stale, "Stale", "True/Permitted", "no policy matches: high", "a stale cluster"),
            (
                vec![("default", "{tiers: [high]}")],
                live,
                "Connected",
                "True/Permitted",
                "no policy matches, so that default holds: high",
                "the default",
            ),
            (
                vec![("p", "{tiers: [low, sec]}")],
                stale,
                "NotConnected",
                "False/TierPortMismatch",
                "policy p holds; high NotInPolicy; low TierPortMismatch; sec DriverNotSupported",
                "the weightiest of as many",
            ),
            (
                vec![("p", "{tiers: []}")],
                live,
                "NotConnected",
                "False/NotInPolicy",
                "policy p holds; high NotInPolicy; low TierPortMismatch; sec NotInPolicy",
                "the most frequent",
            ),
            (
                vec![("p", "{}"), ("q", "{}")],
                stale,
                "Conflict",
                "False/PolicyConflict",
                "policies p, q match, so that none holds; high PolicyConflict; low TierPortMismatch; sec PolicyConflict",
                "two policies",
            ),
            (
                vec![oldest, ("p", "{}"), ("q", "{}")],
                live,
                "Conflict",
                "True/Permitted",
                "policies p, q match, of which p holds: high",
                "two policies, the older holds",
            ),
        ];
        for (policies, liveness, state, permitted, said, message) in table {
            let connection = mk_connection(&policies);
            let patch = cluster_connection(&ClusterConnection::default(), &connection, liveness, &at(0)).unwrap();
            let status = &patch.body["status"];
            let text = |index: usize, field: &str| status["conditions"][index][field].as_str().unwrap_or_default();
            assert_eq!(status["state"], state, "{message}");
            assert_eq!(format!("{}/{}", text(0, "status"), text(0, "reason")), permitted, "{message}");
            assert_eq!((text(0, "type"), text(0, "message")), ("Permitted", said), "{message}");
            let conflicted = if state == "Conflict" { "True/PolicyConflict" } else { "False/NoConflicts" };
            assert_eq!(format!("{}/{}", text(1, "status"), text(1, "reason")), conflicted, "{message}");
            let high = json!({"name": "high", "port": 1, "permitted": true});
            let is_open = status["tiers"][0] == high;
            assert_eq!(is_open, permitted.starts_with("True"), "{message}: {status}");
            assert_eq!(status["tiers"][1].get("port"), None, "{message}: they do not agree");
        }
    }

    #[test]
    fn what_is_so_already_is_not_said_again_and_times_are_kept() {
        let open = mk_connection(&[("p", "{}"), ("elsewhere", "{leftClusterSelector: {matchLabels: {x: y}}}")]);
        let patch = cluster_connection(&ClusterConnection::default(), &open, Liveness::Live, &at(1)).unwrap();
        assert_eq!(patch.news, [], "that all is well is no news");
        let before = written(&patch);
        assert_eq!(cluster_connection(&before, &mk_connection(&[("p", "{}")]), Liveness::Live, &at(2)), None);
        let stale = cluster_connection(&before, &open, Liveness::Stale, &at(2)).unwrap();
        assert_eq!(stale.body["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        let closed = mk_connection(&[("p", "{tiers: []}")]);
        let closed = cluster_connection(&before, &closed, Liveness::Live, &at(2)).unwrap();
        let times = |index: usize| closed.body["status"]["conditions"][index]["lastTransitionTime"].clone();
        assert_eq!((times(0), times(1)), (json!("1970-01-01T00:00:02Z"), json!("1970-01-01T00:00:01Z")));
        let news = |patch: &StatusPatch| patch.news.iter().map(|news| news.reason).collect::<Vec<_>>();
        assert_eq!(news(&closed), [Reason::NotInPolicy]);
        let opened = cluster_connection(&written(&closed), &open, Liveness::Live, &at(3)).unwrap();
        assert_eq!(news(&opened), [Reason::Permitted], "that it is over is told, too");
    }
}
