//! The conditions of a `ServiceExport`, as the Multi-Cluster Services API has them.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::condition::{News, NewsType, Saying, Subject};
use super::{Delivery, StatusKind, StatusPatch, message};
use crate::api::{McsVersion, ServiceExport};
use crate::liveness::RegistryState;
use crate::problem::{Reason, Severity};
use crate::snapshot::Key;
use crate::translate::{Exports, LocalExport, Merged, Precedence, merge};

const OURS: [&str; 3] = [ServiceExport::VALID, ServiceExport::READY, ServiceExport::CONFLICT];

/// What changes in the status of a `ServiceExport`.
pub fn service_export(
    subject: Subject<'_>,
    version: McsVersion,
    exported: &LocalExport,
    exports: &Exports,
    delivery: &Delivery,
    now: &Time,
) -> Option<StatusPatch> {
    let sayings = vec![valid(exported), ready(exported, delivery), conflict(exported, exports)];
    subject.patch(StatusKind::ServiceExport(version), &OURS, sayings, now)
}

/// The news that a cluster whose gateways call an export is stale, and that they will be refused.
pub fn refusal_ahead(subject: Subject<'_>, version: McsVersion, cluster: &str, after: Duration) -> StatusPatch {
    let message = format!(
        "cluster {cluster} does not renew its Lease: once it has been silent for {} s more, while the registry can be \
         reached, its egress gateways are refused",
        after.as_secs()
    );
    let news = News { news_type: NewsType::Warning, reason: Reason::ClusterStale, message };
    let kind = StatusKind::ServiceExport(version);
    let (key, uid) = (Key::of(subject.metadata), subject.metadata.uid.clone());
    StatusPatch { kind, key, uid, body: Value::Null, news: vec![news] }
}

fn valid(exported: &LocalExport) -> Saying {
    match exported.problems.first().filter(|_| !exported.is_exported()) {
        Some(problem) => {
            let message = message::of_problems([problem], &exported.object);
            Saying::new(ServiceExport::VALID, false, problem.reason, message)
        }
        None => Saying::new(ServiceExport::VALID, true, Reason::Valid, "the Service can be exported"),
    }
}

fn ready(exported: &LocalExport, delivery: &Delivery) -> Saying {
    let not = |reason, message| Saying::new(ServiceExport::READY, false, reason, message);
    let (errors, warnings): (Vec<_>, Vec<_>) =
        exported.problems.iter().partition(|problem| problem.severity == Severity::Error);
    if !errors.is_empty() {
        not(Reason::Failed, message::of_problems(errors.into_iter().chain(warnings), &exported.object))
    } else if let RegistryState::Unreachable(why) = &delivery.registry {
        let message = format!("the registry keeps what it was told before, if it is still there; {why}");
        not(Reason::RegistryUnreachable, message::joined([message]))
    } else if let Some((failure, message)) = delivery.failure() {
        not(Reason::Failed, format!("{message} ({failure})"))
    } else if let Some(message) = delivery.wait() {
        not(Reason::Pending, message)
    } else if exported.gateways.is_empty() {
        not(Reason::Pending, "no pod of the ingress gateway is ready, so nothing can be sent here".to_owned())
    } else {
        let message = message::joined(
            ["the registry has it".to_owned()]
                .into_iter()
                .chain((!warnings.is_empty()).then(|| message::of_problems(warnings, &exported.object))),
        );
        Saying::new(ServiceExport::READY, true, Reason::Exported, message)
    }
}

/// What the clusters disagree about, and who holds: every export says so, not only those that lose (KEP-1645). An export that
/// the registry does not have takes no part.
fn conflict(exported: &LocalExport, exports: &Exports) -> Saying {
    let declared: Vec<_> = exports.declared(&exported.key.namespace, &exported.key.name).collect();
    let is_told = declared.iter().any(|one| exports.is_own(&one.precedence.cluster));
    let merged = merge(declared).filter(|_| is_told);
    let none = || Saying::new(ServiceExport::CONFLICT, false, Reason::NoConflicts, "no other cluster disagrees");
    let Some(Merged { oldest: Precedence { cluster, since, .. }, conflicts, .. }) = merged else { return none() };
    let Some((first, more)) = conflicts.split_first() else { return none() };
    let fields = conflicts.iter().map(|conflict| conflict.field).collect::<Vec<_>>().join(", ");
    let mut message = format!(
        "the clusters differ in {fields}; the oldest export holds, that of {cluster}, which counts from {}",
        since.0
    );
    if first.reason == Reason::PortConflict {
        message += "; of ports all are served, and of equal names or numbers the older's";
    }
    let more = more.iter().map(|conflict| conflict.reason).collect();
    Saying { more, ..Saying::new(ServiceExport::CONFLICT, true, first.reason, message) }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::snapshot::Gathered;
    use crate::snapshot::change::Change;
    use crate::status::ModuleState;
    use crate::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};

    const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: payment, namespace: secure}
spec: {ports: [{port: 8080}]}
---
";
    const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: gateway, namespace: secure, labels: {gateway.networking.k8s.io/gateway-name: mcwan-ingress}}
status: {podIPs: [{ip: 10.0.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
";
    const OTHER: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: c2, namespace: mc-wan-registry}
spec: {}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: c2.secure.payment, namespace: mc-wan-registry}
spec: {cluster: c2, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 9090}]}
---
";
    const TOLD: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: c1, namespace: mc-wan-registry}
spec: {}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: c1.secure.payment, namespace: mc-wan-registry}
spec: {cluster: c1, namespace: secure, name: payment, exportedAt: '2026-11-20T09:00:00Z', ports: [{port: 8080}]}
---
";
    const EXPORT: &str = "
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: payment, namespace: secure}
";

    #[test]
    fn conditions_have_the_reasons_of_the_multi_cluster_services_api() {
        let external = SERVICE.replace("{ports: [{port: 8080}]}", "{type: ExternalName, externalName: a.b}");
        let unknown_tier = format!(
            "{SERVICE}{POD}{}",
            EXPORT.replace("secure}", "secure, annotations: {mc-wan.l7mp.io/wan-policy: high}}")
        );
        let fine = "Valid=True/Valid Ready=True/Exported Conflict=False/NoConflicts";
        let table = [
            (format!("{SERVICE}{POD}{EXPORT}"), fine, "all is well"),
            (
                format!("{SERVICE}{EXPORT}"),
                "Valid=True/Valid Ready=False/Pending Conflict=False/NoConflicts",
                "no gateway",
            ),
            (EXPORT.to_owned(), "Valid=False/NoService Ready=False/Failed Conflict=False/NoConflicts", "no Service"),
            (
                format!("{external}{EXPORT}"),
                "Valid=False/InvalidServiceType Ready=False/Failed Conflict=False/NoConflicts",
                "an ExternalName Service",
            ),
            (unknown_tier, "Valid=True/Valid Ready=False/Failed Conflict=False/NoConflicts", "an unknown default tier"),
            (
                format!("{SERVICE}{POD}{TOLD}{OTHER}{EXPORT}"),
                "Valid=True/Valid Ready=True/Exported Conflict=True/PortConflict",
                "other ports",
            ),
            (format!("{SERVICE}{POD}{OTHER}{EXPORT}"), fine, "other ports, but the registry does not have ours yet"),
            (format!("{SERVICE}{POD}{TOLD}{}{EXPORT}", OTHER.replace("9090", "8080")), fine, "the same ports"),
            (
                format!(
                    "{SERVICE}{POD}{TOLD}{}{EXPORT}",
                    OTHER.replace("ports:", "properties: {type: Headless}, ports:")
                ),
                "Valid=True/Valid Ready=True/Exported Conflict=True/PortConflict,TypeConflict",
                "other ports and another type",
            ),
            (format!("{SERVICE}{POD}{}", labelled("team: a, app.kubernetes.io/name: b")), fine, "a label that stays"),
            (
                format!(
                    "{SERVICE}{POD}{}",
                    labelled(&(0..65).map(|key| format!("k{key}: a")).collect::<Vec<_>>().join(", "))
                ),
                "Valid=True/Valid Ready=False/Failed Conflict=False/NoConflicts",
                "more labels than go with a Service",
            ),
        ];
        for (world, expected, row) in table {
            assert_eq!(summary(&world, &Delivery::default()), expected, "{row}");
        }
        let failing = Delivery { module: ModuleState::NotFetched("no".to_owned()), ..Delivery::default() };
        let told = summary(&format!("{SERVICE}{POD}{EXPORT}"), &failing);
        assert!(told.contains("Ready=False/Failed"), "{told}");
        let registry = RegistryState::Unreachable("no route".to_owned());
        let told = summary(&format!("{SERVICE}{POD}{EXPORT}"), &Delivery { registry, ..Delivery::default() });
        assert!(told.contains("Ready=False/RegistryUnreachable"), "{told}");
    }

    #[test]
    fn who_reads_a_condition_learns_who_holds_and_what_stays_here() {
        let world = format!("{SERVICE}{POD}{TOLD}{OTHER}{}", labelled("team: a, istio.io/rev: b"));
        let told = said(&world, &Delivery::default());
        let message = |condition: &str| {
            told.body["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == condition).unwrap()
                ["message"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            message("Conflict"),
            "the clusters differ in ports; the oldest export holds, that of c2, which counts from 2026-11-20T08:00:00Z; of \
             ports all are served, and of equal names or numbers the older's"
        );
        assert_eq!(
            message("Ready"),
            "the registry has it; spec.exportedLabels[istio.io/rev]: not exported: Kubernetes, Istio or mcwan steers by it \
             (InvalidName)"
        );
        let reasons: Vec<_> = told.news.iter().map(|news| news.reason.to_string()).collect();
        assert_eq!(reasons, ["Exported", "PortConflict"]);
    }

    fn labelled(labels: &str) -> String {
        format!("{EXPORT}spec: {{exportedLabels: {{{labels}}}}}\n")
    }

    fn summary(world: &str, delivery: &Delivery) -> String {
        let patch = said(world, delivery);
        assert_eq!(patch.body["apiVersion"], "multicluster.x-k8s.io/v1alpha1");
        let conditions = patch.body["status"]["conditions"].as_array().unwrap();
        let text = |one: &serde_json::Value, field: &str| one[field].as_str().unwrap().to_owned();
        let texts = conditions
            .iter()
            .map(|one| format!("{}={}/{}", text(one, "type"), text(one, "status"), text(one, "reason")));
        texts.collect::<Vec<_>>().join(" ")
    }

    fn said(world: &str, delivery: &Delivery) -> StatusPatch {
        let gathered = Gathered::from_text("test.yaml", world);
        let mut translator = Translator::new(Options {
            cluster: Some("c1".to_owned()),
            steering_key: "a key of many letters".parse().unwrap(),
            steering: Steering::RouteHeader,
            mcs_version: McsVersion::V1Alpha1,
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        });
        translator.update(&gathered.snapshot, &[Change::Everything]);
        let export = gathered.snapshot.service_exports.get("secure", "payment").unwrap();
        let exported = translator.local_exports().get("secure", "payment").unwrap();
        let now = Time(Timestamp::UNIX_EPOCH);
        let subject = Subject::service_export(export);
        service_export(subject, McsVersion::V1Alpha1, exported, translator.exports(), delivery, &now).unwrap()
    }
}
