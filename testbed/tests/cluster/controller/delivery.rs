//! What scenes of one controller wait for: what it has made of the payment example.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::Value;

use super::state::{Emitted, Versions, emitted};
use crate::scene::{PATIENCE, Scene};

/// The import of the payment example.
const PAYMENT: &str = "ServiceImport secure/payment";

impl Scene {
    /// Ends a replica that is done with everything.
    pub(crate) async fn end(&self, controller: Controller) -> Result<()> {
        self.settled().await?;
        controller.stop().await
    }

    /// Applies the payment example, the rules first: so they never have a target that they lose again, which would
    /// stay for a while.
    pub(crate) async fn apply_payment(&self) -> Result<()> {
        for object in payment()?.iter().rev() {
            self.put(object).await?;
        }
        Ok(())
    }

    /// Waits until everything that an import is made of by now is there. Here, no gateway runs that could do it.
    pub(crate) async fn until_delivered(&self, import: &str) -> Result<()> {
        self.settled().await?;
        let name = import.split_once(' ').map_or("", |(_, key)| key);
        self.until_addressed(name).await?;
        self.until_said(import, "Programmed=False/Pending", "no pod of Gateway").await?;
        Ok(())
    }

    /// Waits until clients are led to an import, `NAMESPACE/NAME`, which is done last, and the filter knows its address.
    pub(crate) async fn until_called(&self, key: &str) -> Result<()> {
        let service = self.until_addressed(key).await?;
        let host = service["spec"]["clusterIP"].to_string();
        let plugin = format!("WasmPlugin {}/mcwan", key.split_once('/').context("want NAMESPACE/NAME")?.0);
        self.until(&plugin, "the address is a host", |plugin| plugin.to_string().contains(&host)).await?;
        self.settled().await
    }

    /// Waits until the Service that clients of an import call has an address, and we know of it.
    async fn until_addressed(&self, key: &str) -> Result<Value> {
        let service = format!("Service {key}-clusterset");
        self.until(&service, "its address is known", |service| service.to_string().contains("\"f:clusterIP\"")).await?;
        self.settled().await?;
        self.get(&service).await?.context("no Service")
    }

    /// Waits until everything that the payment example is made of is there, with both of its tiers.
    pub(crate) async fn until_payment_delivered(&self) -> Result<()> {
        until(PATIENCE, "both tiers are everywhere", async || {
            for id in ["HTTPRoute secure/payment.8080", "WasmPlugin secure/mcwan"] {
                let text = self.get(id).await?.unwrap_or_default()["spec"].to_string();
                if !["sd-wan-priority-high", "sd-wan-priority-low"].iter().all(|tier| text.contains(tier)) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await?;
        self.until_called("secure/payment").await?;
        self.until_delivered(PAYMENT).await
    }

    /// Waits until what was emitted is as expected.
    pub(crate) async fn until_emitted(&self, what: &str, expected: &Emitted) -> Result<()> {
        let mut last = Emitted::new();
        let waited = until(PATIENCE, what, async || {
            last = self.emitted().await?;
            Ok(last == *expected)
        });
        waited.await.with_context(|| {
            let ids = expected.keys().chain(last.keys().filter(|id| !expected.contains_key(*id)));
            let differing = ids.filter(|id| expected.get(*id) != last.get(*id));
            let lines = differing.map(|id| format!("{id}: {:?} where {:?} is due", last.get(id), expected.get(id)));
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    /// What our field manager has applied.
    pub(crate) async fn emitted(&self) -> Result<Emitted> {
        emitted(&self.cluster.client()).await
    }

    /// The versions of everything.
    pub(crate) async fn versions(&self) -> Result<Versions> {
        Versions::of(&self.cluster.client()).await
    }
}

/// The objects of the payment example.
pub(crate) fn payment() -> Result<Vec<Value>> {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/payment/manifests.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    let documents = text.split("\n---\n").map(serde_saphyr::from_str);
    Ok(documents.collect::<Result<_, _>>()?)
}
