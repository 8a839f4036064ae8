//! A cluster of which there is nothing but what it tells the registry.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DynamicObject, ObjectMeta, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::wan::{LEASE, Wan};
use crate::objects::mk;

const REGISTRY: &str = "mc-wan-registry";

/// A cluster of which there is nothing but what it tells the registry.
pub(crate) struct Neighbour {
    client: Client,
    id: &'static str,
}

/// Renews a Lease until it is dropped.
pub(crate) struct Renewing(JoinHandle<()>);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Neighbour {
    /// Joins, and says that it exports `payment.secure` with so many pods behind one gateway.
    pub(crate) async fn join(wan: &Wan, id: &'static str, pods: u32, gateway: &str) -> Result<Self> {
        let client = client(&wan.join(id).await?).await?;
        let neighbour = Self { client, id };
        let tiers = json!({"spec": {"tiers": [{"name": "high", "port": 31111}]}});
        neighbour.put(mk("WANCluster", REGISTRY, id, tiers)).await?;
        let spec = json!({"cluster": id, "namespace": "secure", "name": "payment",
            "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "defaultTier": "high", "gateways": [gateway], "readyPods": pods});
        let name = format!("{id}.secure.payment");
        neighbour.put(mk("ExportedService", REGISTRY, &name, json!({"spec": spec}))).await?;
        Ok(neighbour)
    }

    /// Renews its Lease from now on, as one whose clock is wrong by so many hours.
    pub(crate) fn renew(&self, hours: i64) -> Renewing {
        let (client, id) = (self.client.clone(), self.id);
        Renewing(tokio::spawn(async move {
            let mut ticks = interval(LEASE / 4);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                // The registry may be away, which passes.
                let _ = tokio::time::timeout(Duration::from_secs(2), renew_once(&client, id, hours)).await;
            }
        }))
    }

    async fn put(&self, object: Value) -> Result<()> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("mc-wan.l7mp.io", "v1alpha1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), REGISTRY, &resource);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let params = PatchParams::apply("neighbour").force();
        api.patch(&name, &params, &Patch::Apply(object)).await.with_context(|| format!("cannot publish {name}"))?;
        Ok(())
    }
}

async fn renew_once(client: &Client, id: &str, hours: i64) -> kube::Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), REGISTRY);
    let now = Timestamp::now().saturating_add(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::MIN);
    let lease = Lease {
        metadata: ObjectMeta { name: Some(id.to_owned()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            holder_identity: Some(id.to_owned()),
            renew_time: Some(MicroTime(now)),
            ..LeaseSpec::default()
        }),
    };
    leases.patch(id, &PatchParams::apply("neighbour").force(), &Patch::Apply(&lease)).await.map(drop)
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
