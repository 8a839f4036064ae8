//! What the pods of egress gateways say of their configuration.

mod asking;
mod progress;
mod record;
mod reload;

use std::sync::Arc;

use super::event::GatewayPod;
use crate::snapshot::Snapshot;
use crate::translate::gateway_pods::{EGRESS_GATEWAY, addresses_of, gateway_of, is_over, is_ready};

pub(super) use asking::Asking;
pub(super) use progress::Progress;
pub(super) use record::Record;
pub(super) use reload::Reload;

/// The pods of a namespace's egress gateway that may serve. Those that drain, and those that are not ready, go on with the
/// connections that they have.
pub(super) fn serving(namespace: &Arc<str>, snapshot: &Snapshot) -> Vec<GatewayPod> {
    let pods = snapshot.gateway_pods.in_namespace(namespace);
    let serving = pods.filter(|pod| gateway_of(pod) == Some(EGRESS_GATEWAY) && !is_over(pod));
    serving
        .filter_map(|pod| {
            Some(GatewayPod {
                namespace: Arc::clone(namespace),
                name: pod.metadata.name.as_deref()?.into(),
                address: addresses_of(pod).next()?,
                is_ready: is_ready(pod),
            })
        })
        .collect()
}
