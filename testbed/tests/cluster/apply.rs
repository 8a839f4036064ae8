//! The controller's edge to a real API server: what it applies, leaves alone, repairs and notices.

mod edge;
mod emitted;
mod server;

use anyhow::Result;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::outcome::{WriteError, WriteOutcome};
use mcwan_core::snapshot::Key;
use mcwan_core::status::{StatusKind, StatusPatch};
use mcwan_testbed::cluster::TestCluster;
use serde_json::{Value, json};

use edge::Edge;
use emitted::{mk_config_map, mk_service, mk_service_on};

fn api(cluster: &TestCluster, id: &ObjectId) -> Api<DynamicObject> {
    Api::namespaced_with(cluster.client(), &id.key.namespace, &id.kind.api_resource())
}

async fn version(cluster: &TestCluster, id: &ObjectId) -> Result<Option<String>> {
    Ok(api(cluster, id).get(&id.key.name).await?.resource_version())
}

async fn merge(cluster: &TestCluster, id: &ObjectId, patch: Value) -> Result<()> {
    api(cluster, id).patch(&id.key.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

async fn remove(cluster: &TestCluster, id: &ObjectId) -> Result<()> {
    api(cluster, id).delete(&id.key.name, &DeleteParams::default()).await?;
    Ok(())
}

/// Writes an object as somebody else does.
async fn create_foreign(cluster: &TestCluster, object: &Object, change: Value) -> Result<()> {
    let mut body = object.body.clone();
    body["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "someone"});
    json_merge(&mut body, change);
    cluster.apply(&body.to_string()).await
}

fn json_merge(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(map), Value::Object(change)) => {
            for (key, change) in change {
                json_merge(map.entry(key).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change,
    }
}

#[tokio::test]
async fn what_is_there_is_not_applied_again() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let objects = emitted::of_all_examples();
    for namespace in emitted::namespaces(&objects) {
        cluster.kubectl(&["create", "namespace", &namespace]).await?;
    }
    let mut edge = Edge::synced(&cluster.client()).await?;
    for kind in Kind::ALL {
        let of_kind: Vec<_> = objects.iter().filter(|object| object.id.kind == kind).cloned().collect();
        assert!(!of_kind.is_empty(), "no example has a {}", kind.name());
        for object in &of_kind {
            assert_eq!(edge.apply(object).await, WriteOutcome::Applied, "{:?} at first", object.id);
        }
    }
    let mut versions = Vec::new();
    for object in &objects {
        versions.push(version(&cluster, &object.id).await?);
    }

    // A controller that starts knows nothing but what the API server says.
    let mut other = Edge::synced(&cluster.client()).await?;
    for edge in [&mut edge, &mut other] {
        for object in &objects {
            assert!(edge.observed.is_same(object), "{:?} again", object.id);
        }
    }
    for (object, version_before) in objects.iter().zip(versions) {
        assert_eq!(version(&cluster, &object.id).await?, version_before, "{:?} is as it was", object.id);
    }
    let is_input =
        |id: &ObjectId| other.inputs.keys().any(|(kind, key)| kind.emitted() == Some(id.kind) && *key == id.key);
    // But for what clusters tell each other, and what the API server gives an address.
    let is_heard = |object: &Object| match object.id.kind {
        Kind::McsServiceImport
        | Kind::ClusterConnection
        | Kind::WanCluster
        | Kind::ExportedEndpoints
        | Kind::ExportedService => true,
        Kind::Service => object.body["spec"]["clusterIP"] != "None",
        _ => false,
    };
    for object in &objects {
        assert_eq!(is_input(&object.id), is_heard(object), "{:?} is ours, and no input", object.id);
    }
    Ok(())
}

#[tokio::test]
async fn what_is_ours_is_repaired_and_nothing_else_is_touched() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let mut edge = Edge::synced(&cluster.client()).await?;

    repairs_edits_and_deletions(&cluster, &mut edge).await?;
    leaves_alone_what_others_wrote(&cluster, &mut edge).await?;
    deletes_only_what_is_ours(&cluster, &mut edge).await?;
    writes_only_as_the_leader(&cluster, &mut edge).await
}

async fn repairs_edits_and_deletions(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    let service = mk_service("edited");
    let id = &service.id;
    assert_eq!(edge.apply(&service).await, WriteOutcome::Applied, "at first");

    merge(cluster, id, json!({"spec": {"ports": [{"name": "http", "port": 81, "protocol": "TCP", "targetPort": 81}]}}))
        .await?;
    edge.until("the edit is seen", |edge| !edge.observed.is_same(&service)).await?;
    assert_eq!(edge.apply(&service).await, WriteOutcome::Applied, "after an edit");
    let live = api(cluster, id).get(&id.key.name).await?;
    assert_eq!(live.data["spec"]["ports"], service.body["spec"]["ports"], "the edit is undone");
    let managers: Vec<_> = live.managed_fields().iter().map(|entry| entry.operation.as_deref()).collect();
    assert_eq!(managers, [Some("Apply")], "we own nothing twice");

    let before = edge.observed.get(id).cloned();
    merge(cluster, id, json!({"metadata": {"annotations": {"theirs": "1"}}})).await?;
    edge.until("another's field is seen", |edge| edge.observed.get(id) != before.as_ref()).await?;
    assert!(edge.observed.is_same(&service), "fields of others do not matter");

    remove(cluster, id).await?;
    edge.until("the deletion is seen", |edge| edge.observed.get(id).is_none()).await?;
    assert_eq!(edge.apply(&service).await, WriteOutcome::Applied, "after a deletion");

    // Somebody is faster than the watch.
    remove(cluster, id).await?;
    create_foreign(cluster, &service, json!({})).await?;
    let foreign = version(cluster, id).await?;
    let changed = mk_service_on("edited", 82);
    assert_eq!(edge.apply(&changed).await, WriteOutcome::Conflict, "another object has the name meanwhile");
    assert_eq!(version(cluster, id).await?, foreign, "it is not touched");
    Ok(())
}

async fn leaves_alone_what_others_wrote(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    // The controller of EndpointSlices and istiod copy our labels to what they make.
    for (name, labels) in [("foreign", "someone"), ("copied", "mcwan")] {
        let service = mk_service(name);
        create_foreign(cluster, &service, json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": labels}}}))
            .await?;
        let before = version(cluster, &service.id).await?;
        assert_eq!(edge.apply(&service).await, WriteOutcome::Conflict, "{name}: before it is seen");
        edge.until("it is seen", |edge| edge.observed.get(&service.id).is_some()).await?;
        assert_eq!(edge.apply(&service).await, WriteOutcome::Conflict, "{name}: after it is seen");
        assert_eq!(edge.delete(&service.id).await, WriteOutcome::Conflict, "{name}: to be deleted");
        assert_eq!(version(cluster, &service.id).await?, before, "{name}: it is not touched");
    }

    // Others' ConfigMaps are not even watched, and theirs has no field that is ours.
    let config_map = mk_config_map("hidden");
    create_foreign(cluster, &config_map, json!({"data": {"deployment": null, "theirs": "1"}})).await?;
    let before = version(cluster, &config_map.id).await?;
    assert_eq!(edge.apply(&config_map).await, WriteOutcome::Conflict, "what no watch sees");
    assert_eq!(version(cluster, &config_map.id).await?, before, "it is not touched");
    Ok(())
}

async fn deletes_only_what_is_ours(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    let (ours, given_away) = (mk_service("ours"), mk_service("given-away"));
    for service in [&ours, &given_away] {
        assert_eq!(edge.apply(service).await, WriteOutcome::Applied, "{:?}", service.id);
    }
    let missing = ObjectId { kind: Kind::Service, key: Key::new("default", "missing") };
    assert_eq!(edge.delete(&missing).await, WriteOutcome::Deleted, "what is not there");

    // The watch is not asked meanwhile: what is known is old.
    merge(cluster, &ours.id, json!({"metadata": {"annotations": {"theirs": "1"}}})).await?;
    assert_eq!(edge.delete(&ours.id).await, WriteOutcome::Deleted, "a newer state of what is ours");
    assert!(api(cluster, &ours.id).get_opt("ours").await?.is_none(), "it is gone");
    merge(cluster, &given_away.id, json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "someone"}}}))
        .await?;
    assert_eq!(edge.delete(&given_away.id).await, WriteOutcome::Conflict, "what is no longer ours");
    assert!(api(cluster, &given_away.id).get_opt("given-away").await?.is_some(), "it stays");

    let again = edge.observed.get(&ours.id).map(|live| live.deleting);
    assert_ne!(again, Some(false), "what was deleted does not count as there");
    edge.until("the deletion is seen", |edge| edge.observed.get(&ours.id).is_none()).await?;
    assert_eq!(edge.apply(&ours).await, WriteOutcome::Applied, "it can be made anew");
    Ok(())
}

async fn writes_only_as_the_leader(cluster: &TestCluster, edge: &mut Edge) -> Result<()> {
    let (ours, late) = (mk_service("ours"), mk_service("late"));
    edge.leading.send_replace(false);
    assert_eq!(edge.apply(&late).await, WriteOutcome::NotLeading, "an apply");
    assert_eq!(edge.delete(&ours.id).await, WriteOutcome::NotLeading, "a deletion");
    let key = Key::new("default", "payment");
    let patch =
        StatusPatch { kind: StatusKind::ServiceImport, key, uid: None, body: json!({"status": {}}), news: Vec::new() };
    assert_eq!(edge.applier.apply_status(&patch).await, Err(WriteError::NotLeading), "a status");
    assert!(api(cluster, &late.id).get_opt("late").await?.is_none(), "nothing was written");
    assert!(api(cluster, &ours.id).get_opt("ours").await?.is_some(), "nothing was deleted");
    edge.leading.send_replace(true);
    assert_eq!(edge.apply(&late).await, WriteOutcome::Applied, "in office again");
    Ok(())
}
