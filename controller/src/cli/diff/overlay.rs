//! A cluster as it would be if files were applied.

use anyhow::{Context, bail};
use kube::Resource;
use mcwan_core::api::RouteKind;
use mcwan_core::json::put;
use mcwan_core::snapshot::change::{Input, InputKind};
use mcwan_core::snapshot::{Key, Objects, Snapshot, input};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::change::{By, Change};
use crate::listing::Live;

/// Metadata that an API server writes.
const NOT_WRITTEN: [&str; 6] =
    ["creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid"];
/// The annotation in which `kubectl apply` keeps a second copy of an object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A cluster as it would be.
pub(super) struct Overlay {
    pub(super) snapshot: Snapshot,
    /// What changes of the user's objects.
    pub(super) changes: Vec<Change>,
}

/// How a file and a live object become one.
#[derive(Clone, Copy)]
enum Merge {
    /// The file has the whole spec: what it leaves out is gone.
    Whole,
    /// The API server has filled in more than the file has.
    Fields,
}

impl Overlay {
    /// Lays what files hold over what is live.
    pub(super) fn new(live: Live, files: &Snapshot) -> anyhow::Result<Self> {
        let Live { snapshot, mcs_version, .. } = live;
        let mut all = Self { snapshot: snapshot.clone(), changes: Vec::new() };
        all.lay(InputKind::WanPolicy, &(), Merge::Whole, &snapshot.wan_policies, &files.wan_policies)?;
        all.lay(InputKind::ServiceImport, &(), Merge::Whole, &snapshot.service_imports, &files.service_imports)?;
        all.lay(
            InputKind::ServiceExport,
            &mcs_version,
            Merge::Fields,
            &snapshot.service_exports,
            &files.service_exports,
        )?;
        all.lay(InputKind::ExportedService, &(), Merge::Whole, &snapshot.exported_services, &files.exported_services)?;
        all.lay(
            InputKind::ExportedEndpoints,
            &(),
            Merge::Whole,
            &snapshot.exported_endpoints,
            &files.exported_endpoints,
        )?;
        all.lay(InputKind::WanCluster, &(), Merge::Whole, &snapshot.wan_clusters, &files.wan_clusters)?;
        all.lay(
            InputKind::ConnectionPolicy,
            &(),
            Merge::Whole,
            &snapshot.connection_policies,
            &files.connection_policies,
        )?;
        all.lay(InputKind::Service, &(), Merge::Fields, &snapshot.services, &files.services)?;
        all.lay(InputKind::EndpointSlice, &(), Merge::Fields, &snapshot.endpoint_slices, &files.endpoint_slices)?;
        all.lay(InputKind::ReferenceGrant, &(), Merge::Fields, &snapshot.reference_grants, &files.reference_grants)?;
        all.lay(InputKind::GatewayPod, &(), Merge::Fields, &snapshot.gateway_pods, &files.gateway_pods)?;
        for kind in RouteKind::ALL {
            let (live, files) = (snapshot.routes.of(kind), files.routes.of(kind));
            all.lay(InputKind::Route(kind), &kind, Merge::Fields, live, files)?;
        }
        for file in files.openshift_routes.by_age() {
            let mut route = file.clone();
            let key = Key::of(&route.metadata);
            if let Some(live) = snapshot.openshift_routes.get(&key.namespace, &key.name) {
                route.metadata.uid.clone_from(&live.metadata.uid);
                route.metadata.creation_timestamp.clone_from(&live.metadata.creation_timestamp);
            }
            all.snapshot.put(Input::OpenshiftRoute(route));
        }
        Ok(all)
    }

    fn lay<T: Resource + Serialize>(
        &mut self,
        kind: InputKind,
        version: &T::DynamicType,
        merge: Merge,
        live: &Objects<T>,
        files: &Objects<T>,
    ) -> anyhow::Result<()> {
        for file in files.by_age() {
            let key = Key::of(file.meta());
            let file = manifest(file, version)?;
            let before = live.get(&key.namespace, &key.name).map(|live| manifest(live, version)).transpose()?;
            let after = merge.apply(before.as_ref(), file);
            let input = match input::read(kind, &after) {
                Ok(input) => input,
                Err(unreadable) => bail!("{} {key}: {}", T::kind(version), unreadable.error),
            };
            self.snapshot.put(input);
            self.changes.extend(Change::between(By::User, before.map(as_written), Some(as_written(after))));
        }
        Ok(())
    }
}

impl Merge {
    fn apply(self, live: Option<&Value>, mut file: Value) -> Value {
        let Some(mut merged) = live.cloned() else { return file };
        if let Some(Value::Object(metadata)) = file.get_mut("metadata") {
            metadata.retain(|field, _| !NOT_WRITTEN.contains(&field.as_str()));
        }
        let spec = file.get("spec").cloned().unwrap_or_default();
        let applied = merged.pointer("/metadata/annotations").and_then(|all| all.get(LAST_APPLIED)?.as_str());
        let applied = applied.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        lay(&mut merged, &applied, file);
        if matches!(self, Self::Whole) {
            put(&mut merged, "spec", spec);
        }
        merged
    }
}

/// An object with its version and kind.
fn manifest<T: Resource + Serialize>(object: &T, version: &T::DynamicType) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(object).context("an object cannot be written")?;
    put(&mut value, "apiVersion", T::api_version(version));
    put(&mut value, "kind", T::kind(version));
    Ok(value)
}

/// Lays what a file says over what is live, as `kubectl apply` does: what was applied before and the file leaves out goes, what
/// others or the API server filled in stays. Lists are replaced, but for the defaults that the API server fills in.
fn lay(live: &mut Value, applied: &Value, file: Value) {
    match (live, file) {
        (Value::Object(fields), Value::Object(mut file)) => {
            fields.retain(|field, _| match applied.get(field) {
                None | Some(Value::Null) => true,
                // kubectl keeps one there itself, so that it is never left out as a whole.
                Some(_) if field == "annotations" => {
                    file.entry(field).or_insert_with(|| Map::new().into());
                    true
                }
                Some(_) => file.contains_key(field),
            });
            for (field, mut file) in file {
                let applied = applied.get(&field).unwrap_or(&Value::Null);
                let live = fields.entry(field.clone()).or_insert(Value::Null);
                if file.is_array() {
                    fill(&field, &mut file, live);
                }
                lay(live, applied, file);
            }
        }
        (live, file) => *live = file,
    }
}

/// Gives what stands in a list, or in a field, of this name the defaults that the API server has filled in at the same place.
fn fill(parent: &str, file: &mut Value, live: &Value) {
    match (file, live) {
        (Value::Object(file), Value::Object(live)) => {
            let has_same_port = file.get("port") == live.get("port");
            for (field, live) in live {
                let is_of_port = match field.as_str() {
                    "targetPort" => file.get("port") == Some(live),
                    // One that a Service was given, it keeps.
                    "nodePort" => has_same_port,
                    _ => false,
                };
                match file.get_mut(field) {
                    Some(file) => fill(field, file, live),
                    None if is_of_port || is_default(parent, field, live) => {
                        file.insert(field.clone(), live.clone());
                    }
                    None => {}
                }
            }
        }
        (Value::Array(file), Value::Array(live)) => {
            file.iter_mut().zip(live).for_each(|(file, live)| fill(parent, file, live));
        }
        _ => {}
    }
}

/// Whether a field of what stands in a list has the value that an API server gives it where nobody says one (Kubernetes,
/// `ServicePort`; Gateway API, `HTTPRouteSpec` and `GRPCRouteSpec`).
fn is_default(parent: &str, field: &str, value: &Value) -> bool {
    let default = match (parent, field) {
        ("parentRefs", "group") => json!("gateway.networking.k8s.io"),
        ("parentRefs", "kind") => json!("Gateway"),
        ("backendRefs" | "backendRef", "group") => json!(""),
        ("backendRefs" | "backendRef", "kind") => json!("Service"),
        ("backendRefs", "weight") => json!(1),
        ("path", "type") => json!("PathPrefix"),
        ("path", "value") => json!("/"),
        ("headers" | "queryParams" | "method", "type") => json!("Exact"),
        ("matches", "path") => json!({"type": "PathPrefix", "value": "/"}),
        ("rules", "matches") => json!([{"path": {"type": "PathPrefix", "value": "/"}}]),
        ("requestRedirect", "statusCode") => json!(302),
        ("fraction", "denominator") => json!(100),
        ("cors", "maxAge") => json!(5),
        ("ports", "protocol") => json!("TCP"),
        _ => return false,
    };
    *value == default
}

/// An object without what users do not write.
fn as_written(object: Value) -> Value {
    let Value::Object(mut object) = object else { return object };
    object.remove("status");
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|field, _| !NOT_WRITTEN.contains(&field.as_str()));
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use mcwan_core::snapshot::Gathered;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_file_of_ours_leaves_out_is_gone_and_what_an_api_server_filled_in_stays() {
        let live = json!({"metadata": {"uid": "1", "labels": {"a": "1"}}, "spec": {"http": {"rules": []}, "x": 1}});
        let file = json!({"metadata": {"labels": {"b": "2"}}, "spec": {"x": 2}});
        let metadata = json!({"uid": "1", "labels": {"a": "1", "b": "2"}});
        let whole = Merge::Whole.apply(Some(&live), file.clone());
        assert_eq!(whole, json!({"metadata": metadata, "spec": {"x": 2}}));
        let fields = Merge::Fields.apply(Some(&live), file.clone());
        assert_eq!(fields, json!({"metadata": metadata, "spec": {"http": {"rules": []}, "x": 2}}));
        assert_eq!(Merge::Whole.apply(None, file.clone()), file, "nothing is live");
    }

    #[test]
    fn what_kubectl_applied_before_and_a_file_leaves_out_goes() {
        let applied = json!({
            "metadata": {"annotations": {"a": "1"}, "labels": {"a": "1"}, "creationTimestamp": null},
            "spec": {"timeouts": {"request": "1s"}},
        });
        let live = |annotations, spec| {
            let metadata = json!({"annotations": annotations, "creationTimestamp": "2026-11-27T08:00:00Z"});
            json!({"metadata": metadata, "spec": spec})
        };
        let mut before = live(
            json!({"a": "1", "b": "2", LAST_APPLIED: applied.to_string()}),
            json!({"timeouts": {"request": "1s"}, "others": 1}),
        );
        before["metadata"]["labels"] = json!({"a": "1", "b": "2"});
        let merged = Merge::Fields.apply(Some(&before), json!({"metadata": {}, "spec": {}}));
        let annotations = json!({"b": "2", LAST_APPLIED: applied.to_string()});
        assert_eq!(merged, live(annotations, json!({"others": 1})), "what others wrote stays");
    }

    #[test]
    fn of_lists_only_defaults_are_kept() {
        let route = |backend, rule: &Value| {
            let mut rule = rule.clone();
            put(&mut rule, "backendRefs", json!([backend]));
            json!({"spec": {"rules": [rule]}})
        };
        let everything = json!({"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]});
        let live = route(json!({"name": "x", "group": "", "kind": "Service", "weight": 1}), &everything);
        let file = route(json!({"name": "x"}), &json!({}));
        assert_eq!(Merge::Fields.apply(Some(&live), file.clone()), live, "nobody wrote these");
        let pay = json!({"matches": [{"path": {"type": "Exact", "value": "/pay"}}]});
        for live in [route(json!({"name": "x", "weight": 5}), &json!({})), route(json!({"name": "x"}), &pay)] {
            assert_eq!(Merge::Fields.apply(Some(&live), file.clone()), file, "somebody wrote {live}");
        }
        let on = |path| json!({"spec": {"rules": [{"matches": [{"path": path}]}]}});
        let exact = on(json!({"type": "Exact", "value": "/pay"}));
        let file = on(json!({"value": "/pay"}));
        assert_eq!(Merge::Fields.apply(Some(&exact), file.clone()), file, "a wider path");
        let prefix = on(json!({"type": "PathPrefix", "value": "/pay"}));
        assert_eq!(Merge::Fields.apply(Some(&prefix), file), prefix);
        let grant = |to| json!({"spec": {"to": [to]}});
        let live = grant(json!({"group": "", "kind": "Service", "name": "x"}));
        let file = grant(json!({"group": "", "kind": "Service"}));
        assert_eq!(Merge::Fields.apply(Some(&live), file.clone()), file, "a wider grant");
    }

    #[test]
    fn a_route_of_a_file_takes_the_place_of_the_live_one() {
        let snapshot = |kind: &str, path: &str| {
            let text = format!(
                "apiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: pay, namespace: secure}}\nspec:\n  \
                 parentRefs: [{{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment}}]\n  rules: [{{name: {path}}}]\n"
            );
            Gathered::from_text("route.yaml", &text).snapshot
        };
        for kind in ["HTTPRoute", "GRPCRoute"] {
            let live = Live { snapshot: snapshot(kind, "before"), ..Live::default() };
            let overlay = Overlay::new(live, &snapshot(kind, "after")).unwrap();
            let names: Vec<_> = overlay.snapshot.routes.iter().map(|route| route.rules[0].rule.name.clone()).collect();
            assert_eq!(names, [Some("after".to_owned())], "{kind}");
            assert_eq!(overlay.changes.len(), 1, "{kind}: {:?}", overlay.changes);
            let same = Live { snapshot: snapshot(kind, "same"), ..Live::default() };
            assert_eq!(Overlay::new(same, &snapshot(kind, "same")).unwrap().changes.len(), 0, "{kind}");
        }
    }
}
