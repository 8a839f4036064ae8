//! The status of a `ClusterConnection`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mcwan_policy::sla::Judgement;
use serde_json::{Value, json};

use super::condition::{News, NewsType, Saying, Subject};
use super::{StatusKind, StatusPatch, message};
use crate::api::{ClusterConnection, ClusterConnectionStatus, MeasuredLevel, MeasuredTier};
use crate::connection::Connection;
use crate::json::put_at;
use crate::liveness::Liveness;
use crate::problem::Reason;

/// What changes in the status: which tiers the two clusters may use, by which policy, whether the other one is alive, and
/// what is measured of a tier, where that was told before.
pub fn cluster_connection(
    written: &ClusterConnection,
    connection: &Connection,
    liveness: Liveness,
    measured: impl Fn(&str, Option<&MeasuredTier>) -> Option<MeasuredTier>,
    now: &Time,
) -> Option<StatusPatch> {
    let mut status = connection.status(liveness);
    let before = written.status.clone().unwrap_or_default();
    let mut news = Vec::new();
    for tier in &mut status.tiers {
        let before = before.tiers.iter().find(|before| before.name == tier.name);
        let before = before.and_then(|before| before.measured.as_ref());
        tier.measured = measured(&tier.name, before);
        news.extend(tier.measured.as_ref().and_then(|measured| moved(&tier.name, before, measured)));
    }
    let ours = [ClusterConnection::PERMITTED, ClusterConnection::CONFLICTED];
    let sayings = vec![permitted(connection), conflicted(connection)];
    let subject = Subject::cluster_connection(written);
    let (mut patch, is_same) = subject.said(StatusKind::ClusterConnection, &ours, sayings, now);
    if is_same && status == (ClusterConnectionStatus { conditions: Vec::new(), ..before }) {
        return None;
    }
    if let Value::Object(fields) = json!(status) {
        for (field, value) in fields {
            put_at(&mut patch.body, &["status", &field], value);
        }
    }
    patch.news.extend(news);
    Some(patch)
}

/// That a tier has another level than before. One that begins to be measured begins In.
fn moved(tier: &str, before: Option<&MeasuredTier>, now: &MeasuredTier) -> Option<News> {
    let level = before.map_or(MeasuredLevel::In, |before| before.level);
    if level == now.level {
        return None;
    }
    let MeasuredTier { latency_ms, jitter_ms, loss_percent, pods, pods_out, .. } = now;
    let figures = [("round trip", latency_ms, "ms"), ("jitter", jitter_ms, "ms"), ("loss each way", loss_percent, "%")];
    let figures = figures.into_iter().filter_map(|(name, value, unit)| Some((name, value.as_ref()?, unit)));
    let figures = figures.map(|(name, value, unit)| format!("{name} {value} {unit}"));
    let said = format!("tier {tier} is {} at {pods_out} of {pods} gateway pods", now.level);
    let message = message::joined([said].into_iter().chain(figures));
    let news_type = if now.level == MeasuredLevel::In { NewsType::Normal } else { NewsType::Warning };
    Some(News { news_type, reason: Judgement::named(&now.reason)?.into(), message })
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

    /// Nothing is known of what is measured.
    fn as_before(_: &str, before: Option<&MeasuredTier>) -> Option<MeasuredTier> {
        before.cloned()
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
            let patch =
                cluster_connection(&ClusterConnection::default(), &connection, liveness, as_before, &at(0)).unwrap();
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
        let patch =
            cluster_connection(&ClusterConnection::default(), &open, Liveness::Live, as_before, &at(1)).unwrap();
        assert_eq!(patch.news, [], "that all is well is no news");
        let before = written(&patch);
        assert_eq!(
            cluster_connection(&before, &mk_connection(&[("p", "{}")]), Liveness::Live, as_before, &at(2)),
            None
        );
        let stale = cluster_connection(&before, &open, Liveness::Stale, as_before, &at(2)).unwrap();
        assert_eq!(stale.body["status"]["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        let closed = mk_connection(&[("p", "{tiers: []}")]);
        let closed = cluster_connection(&before, &closed, Liveness::Live, as_before, &at(2)).unwrap();
        let times = |index: usize| closed.body["status"]["conditions"][index]["lastTransitionTime"].clone();
        assert_eq!((times(0), times(1)), (json!("1970-01-01T00:00:02Z"), json!("1970-01-01T00:00:01Z")));
        let news = |patch: &StatusPatch| patch.news.iter().map(|news| news.reason).collect::<Vec<_>>();
        assert_eq!(news(&closed), [Reason::NotInPolicy]);
        let opened = cluster_connection(&written(&closed), &open, Liveness::Live, as_before, &at(3)).unwrap();
        assert_eq!(news(&opened), [Reason::Permitted], "that it is over is told, too");
    }

    #[test]
    fn what_is_measured_is_told_with_its_moves() {
        let open = mk_connection(&[]);
        let mk = |level, reason: &str| MeasuredTier {
            level,
            reason: reason.to_owned(),
            since: at(1),
            latency_ms: Some("103.2".to_owned()),
            jitter_ms: None,
            loss_percent: Some("0.00".to_owned()),
            http_status: Some(404),
            pods: 2,
            pods_out: 1,
        };
        let say = |before: &ClusterConnection, measured: Option<&MeasuredTier>| {
            let measured = |tier: &str, _: Option<&MeasuredTier>| measured.filter(|_| tier == "high").cloned();
            cluster_connection(before, &open, Liveness::Live, measured, &at(2))
        };
        let none = written(&say(&ClusterConnection::default(), None).unwrap());
        let sound = mk(MeasuredLevel::In, "InSla");
        let first = say(&none, Some(&sound)).unwrap();
        assert_eq!(first.news, [], "that it is sound is no news");
        assert_eq!(first.body["status"]["tiers"][0]["measured"]["latencyMs"], "103.2");
        assert_eq!(first.body["status"]["tiers"][1].get("measured"), None, "a tier that nothing goes by");
        let sound = written(&first);
        assert_eq!(cluster_connection(&sound, &open, Liveness::Live, as_before, &at(3)), None, "nobody knows more");
        let late = say(&sound, Some(&mk(MeasuredLevel::Out, "Latency"))).unwrap();
        let [news] = late.news.as_slice() else { panic!("{:?}", late.news) };
        assert_eq!((news.news_type, news.reason), (NewsType::Warning, Reason::Latency));
        let message = "tier high is Out at 1 of 2 gateway pods; round trip 103.2 ms; loss each way 0.00 %";
        assert_eq!(news.message, message);
        let back = say(&written(&late), Some(&mk(MeasuredLevel::In, "InSla"))).unwrap();
        assert_eq!(back.news.iter().map(|news| news.news_type).collect::<Vec<_>>(), [NewsType::Normal]);
        assert!(say(&sound, None).unwrap().body["status"]["tiers"][0].get("measured").is_none(), "no rule goes by it");
    }
}
