//! A service that this cluster exports, and does not import.

use std::io::{self, Write};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use mcwan_core::api::ServiceExport;
use mcwan_core::status::Subject;
use serde::Serialize;

use super::leader::Leader;
use crate::cli::cluster::World;
use crate::cli::report::printable;

/// What is known of it. Nothing is made of an import for it here, so that nothing is missing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exported {
    namespace: String,
    name: String,
    /// This cluster, where its name is known.
    cluster: Option<String>,
    /// Never.
    is_imported: bool,
    /// Whether somebody wrote rules for it here, which wait.
    has_rules: bool,
    /// Whether the export works.
    pub(super) ok: bool,
    /// Of the `ServiceExport`.
    conditions: Vec<Condition>,
}

impl Exported {
    /// None where it is imported as well, or not exported.
    pub(super) fn of(world: &World, leader: &Leader, namespace: &str, name: &str) -> Option<Self> {
        let export = world.live.snapshot.service_exports.get(namespace, name)?;
        let is_elsewhere = world.translator.exports().sources(namespace, name).next().is_some();
        let import = world.translator.imports().get(namespace, name);
        let is_served = import.is_some_and(|import| !import.ports.is_empty());
        if is_elsewhere || is_served {
            return None;
        }
        let conditions = Subject::service_export(export).conditions.to_vec();
        let is = |kind: &str, status: &str| {
            conditions.iter().any(|condition| condition.type_ == kind && condition.status == status)
        };
        let is_well = is(ServiceExport::VALID, "True") && is(ServiceExport::READY, "True");
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            cluster: world.options.cluster.clone(),
            is_imported: false,
            has_rules: import.is_some(),
            ok: is_well && !is(ServiceExport::CONFLICT, "True") && leader.is_missing().is_none(),
            conditions,
        })
    }

    /// Says so, and how the export does.
    pub(super) fn text(&self, leader: &Leader, out: &mut impl Write) -> io::Result<()> {
        let Self { namespace, name, cluster, is_imported: _, has_rules, ok: _, conditions } = self;
        let this = cluster.as_ref().map_or_else(|| "this cluster".to_owned(), |name| format!("this cluster, {name},"));
        writeln!(out, "{this} exports {namespace}/{name} and does not import it: no other cluster exports it")?;
        if let Some(missing) = leader.is_missing() {
            writeln!(out, "  {}: {}", missing.what, missing.hint)?;
        }
        for Condition { type_, status, reason, message, .. } in conditions {
            writeln!(out, "  {type_} is {status} ({reason}): {}", printable(message))?;
        }
        if conditions.is_empty() {
            writeln!(out, "  the controller has not said yet how the export does: see its log")?;
        }
        if *has_rules {
            writeln!(out, "  the rules of its ServiceImport hold here once another cluster exports it, too")?;
        }
        writeln!(out, "  where it is imported: mcwan status {name} -n {namespace}, with that cluster's kubeconfig")
    }
}

#[cfg(test)]
mod tests {
    use mcwan_core::snapshot::Gathered;
    use mcwan_core::snapshot::change::Change;
    use mcwan_core::translate::{Options, Steering, Translator, Trust};
    use serde_json::json;

    use super::*;
    use crate::cli::cluster::Environment;
    use crate::listing::Live;

    const EXPORT: &str = "
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: {name: payment, namespace: secure}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANPolicy
metadata: {name: high}
spec: {port: 31111}
";
    const IMPORT: &str = "
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ServiceImport
metadata: {name: payment, namespace: secure}
spec: {http: {rules: [{backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}]}}
";
    const OTHER: &str = "
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: c2, namespace: mc-wan-registry}
spec: {}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: c2.secure.payment, namespace: mc-wan-registry}
spec: {cluster: c2, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', ports: [{port: 8080}]}
";

    /// A world in which the controller has said of the export what these are.
    fn mk_world(documents: &str, conditions: &[(&str, &str)]) -> World {
        let mut snapshot = Gathered::from_text("world.yaml", documents).snapshot;
        let said = snapshot.service_exports.get("secure", "payment").cloned().map(|mut export| {
            let condition = |(kind, status): &(&str, &str)| {
                json!({"type": kind, "status": status, "reason": kind, "message": "m",
                    "lastTransitionTime": "2026-11-20T08:00:00Z"})
            };
            let conditions = conditions.iter().map(condition).map(|one| serde_json::from_value(one).unwrap());
            export.status.conditions = conditions.collect();
            export
        });
        if let Some(export) = said {
            snapshot.put(mcwan_core::snapshot::change::Input::ServiceExport(export));
        }
        let options = Options {
            cluster: Some("c1".to_owned()),
            steering_key: "0123456789abcdef".parse().unwrap(),
            steering: Steering::RouteHeader,
            mcs_version: mcwan_core::api::McsVersion::default(),
            trust: Trust::default(),
        };
        let mut translator = Translator::new(options.clone());
        translator.update(&snapshot, &[Change::Everything]);
        let live = Live { snapshot, ..Live::default() };
        World { live, options, translator, environment: Environment::default() }
    }

    fn of(world: &World) -> Option<Exported> {
        Exported::of(world, &Leader::Is("mcwan-0".to_owned()), "secure", "payment")
    }

    #[test]
    fn what_is_exported_alone_has_no_broken_import() {
        let well = [("Valid", "True"), ("Ready", "True"), ("Conflict", "False")];
        for (documents, conditions, expected, message) in [
            (EXPORT.to_owned(), &well[..], Some(true), "the export works"),
            (format!("{EXPORT}{IMPORT}"), &well, Some(true), "there are rules for an import, which waits"),
            (EXPORT.to_owned(), &[("Valid", "True"), ("Ready", "False")], Some(false), "the export does not work"),
            (EXPORT.to_owned(), &[], Some(false), "nothing is said yet"),
            (format!("{EXPORT}{OTHER}"), &well, None, "another cluster exports it, too: it is imported"),
            (OTHER.to_owned(), &[], None, "it is imported only"),
        ] {
            let known = of(&mk_world(&documents, conditions));
            assert_eq!(known.map(|exported| exported.ok), expected, "{message}");
        }
    }

    #[test]
    fn it_says_who_exports_it_and_where_to_look() {
        let world = mk_world(&format!("{EXPORT}{IMPORT}"), &[("Ready", "True")]);
        let mut out = Vec::new();
        of(&world).unwrap().text(&Leader::Unknown, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for line in [
            "this cluster, c1, exports secure/payment and does not import it: no other cluster exports it",
            "  Ready is True (Ready): m",
            "  the rules of its ServiceImport hold here once another cluster exports it, too",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        assert!(!text.contains("broken"), "{text}");
    }
}
