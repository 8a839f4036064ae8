//! The pods that live, for those who want something of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use tokio::sync::mpsc::UnboundedSender;

use super::order::Order;
use crate::namespace::Entrance;

/// The living pods by their uids.
#[derive(Clone, Debug, Default)]
pub(super) struct Register(Arc<Mutex<BTreeMap<String, Entry>>>);

#[derive(Debug)]
struct Entry {
    namespace: String,
    name: String,
    orders: UnboundedSender<Order>,
    entrance: Option<Entrance>,
}

impl Register {
    pub(super) fn add(&self, pod: &Pod, orders: UnboundedSender<Order>) {
        let namespace = pod.namespace().unwrap_or_default();
        let entry = Entry { namespace, name: pod.name_any(), orders, entrance: None };
        self.entries().insert(pod.uid().unwrap_or_default(), entry);
    }

    pub(super) fn remove(&self, uid: &str) {
        self.entries().remove(uid);
    }

    pub(super) fn knows(&self, uid: &str) -> bool {
        self.entries().contains_key(uid)
    }

    /// Says where a pod is.
    pub(super) fn set_entrance(&self, uid: &str, entrance: Entrance) {
        if let Some(entry) = self.entries().get_mut(uid) {
            entry.entrance = Some(entrance);
        }
    }

    /// Gives a pod an order, if it is there.
    pub(super) fn tell(&self, uid: &str, order: Order) {
        if let Some(entry) = self.entries().get(uid) {
            // It may be about to end.
            let _ = entry.orders.send(order);
        }
    }

    /// Says that a Pod is gone from the API server.
    pub(super) fn gone(&self, uid: &str) {
        self.tell(uid, Order::Gone);
    }

    /// Says so of all but these.
    pub(super) fn keep_only(&self, uids: &[String]) {
        let entries = self.entries();
        for (_, entry) in entries.iter().filter(|(uid, _)| !uids.contains(uid)) {
            // It may be about to end.
            let _ = entry.orders.send(Order::Gone);
        }
    }

    /// Gives the pod of this name an order.
    pub(super) fn order(&self, namespace: &str, name: &str, order: Order) -> Result<()> {
        let orders = self.find(namespace, name, |entry| entry.orders.clone())?;
        orders.send(order).ok().with_context(|| format!("pod {namespace}/{name} is about to end"))
    }

    /// Where the pod of this name is.
    pub(super) fn entrance(&self, namespace: &str, name: &str) -> Result<Entrance> {
        let entrance = self.find(namespace, name, |entry| entry.entrance.clone())?;
        entrance.with_context(|| format!("pod {namespace}/{name} does not run yet"))
    }

    fn find<T>(&self, namespace: &str, name: &str, take: impl Fn(&Entry) -> T) -> Result<T> {
        let entries = self.entries();
        let mut found = entries.values().filter(|entry| entry.namespace == namespace && entry.name == name);
        found.next().map(take).with_context(|| format!("the kubelet runs no pod {namespace}/{name}"))
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
