//! Tells the API server how a pod is, as soon as it listens.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::{Api, Error};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::RETRY;
use super::node::Node;

/// Tells the newest status of a pod. It stops when this is dropped.
#[derive(Debug)]
pub(super) struct Reporter {
    newest: watch::Sender<Value>,
    telling: AbortHandle,
}

impl Reporter {
    pub(super) fn new(node: Arc<Node>, pod: &Pod) -> Self {
        let (newest, receiver) = watch::channel(Value::Null);
        let telling = tokio::spawn(tell(node, pod.metadata.clone(), receiver)).abort_handle();
        Self { newest, telling }
    }

    /// Has this told, in place of what was not told yet.
    pub(super) fn report(&self, status: Value) {
        self.newest.send_replace(status);
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.telling.abort();
    }
}

async fn tell(node: Arc<Node>, pod: ObjectMeta, mut newest: watch::Receiver<Value>) {
    let pods: Api<Pod> = Api::namespaced(node.client.clone(), &pod.namespace.unwrap_or_default());
    let name = pod.name.unwrap_or_default();
    while newest.changed().await.is_ok() {
        loop {
            let status = newest.borrow_and_update().clone();
            // The uid keeps it from another Pod of the same name.
            let patch = json!({"metadata": {"uid": pod.uid}, "status": status});
            // Conditions of others stay.
            match pods.patch_status(&name, &PatchParams::default(), &Patch::Strategic(&patch)).await {
                Ok(_) => break,
                Err(Error::Api(answer)) if answer.code == 404 || answer.code == 409 => return,
                Err(_) => sleep(RETRY).await,
            }
        }
    }
}
