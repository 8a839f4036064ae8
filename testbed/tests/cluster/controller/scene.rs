//! A cluster with replicas of the controller, and the payment example in it.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mcwan_testbed::cluster::Crds;
use mcwan_testbed::controller::Controller;
use mcwan_testbed::wait::until;
use serde_json::Value;

use super::state::{Emitted, Versions, emitted};
use crate::shipped::Shipped;
use crate::site::{PATIENCE, Site};

/// The import of the payment example.
const PAYMENT: &str = "ServiceImport secure/payment";

/// A cluster, and what the controller needs to run in it. What a [`Site`] can do, it can do.
pub(crate) struct Scene {
    site: Site,
    module: Shipped,
}

impl Scene {
    /// Starts a cluster in which the controller is installed and nothing runs.
    pub(crate) async fn start() -> Result<Self> {
        Self::start_with(&Crds::ALL).await
    }

    /// Starts one that serves these custom resources only.
    pub(crate) async fn start_with(crds: &[Crds]) -> Result<Self> {
        let (site, module) = tokio::try_join!(Site::start("cluster-2", crds), Shipped::start())?;
        Ok(Self { site, module })
    }

    /// Starts a replica of the controller and waits until it is ready.
    pub(crate) async fn replica(&self, replica: &str) -> Result<Controller> {
        self.replica_with(replica, 15, true).await
    }

    /// Starts a replica, with a lease of so many seconds; waits until it is ready, or does not.
    pub(crate) async fn replica_with(&self, replica: &str, lease: u32, ready: bool) -> Result<Controller> {
        self.replica_told(replica, &["--lease-seconds", &lease.to_string()], ready).await
    }

    /// Starts a replica with more arguments; waits until it is ready, or does not.
    pub(crate) async fn replica_told(&self, replica: &str, arguments: &[&str], ready: bool) -> Result<Controller> {
        let timing = ["--target-lead-ms", "100", "--target-grace-seconds", "1"];
        let arguments = [&timing, arguments].concat();
        if ready {
            self.site.controller(&self.module, replica, &arguments).await
        } else {
            self.site.begun(&self.module, replica, &arguments).await
        }
    }

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
        // What leads clients to it is made last.
        self.until_there(&format!("{}-clusterset", import.replacen("ServiceImport", "Service", 1))).await?;
        self.until_said(import, "Programmed=False/Pending", "no pod of Gateway").await?;
        Ok(())
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

impl Deref for Scene {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl DerefMut for Scene {
    fn deref_mut(&mut self) -> &mut Site {
        &mut self.site
    }
}

/// The objects of the payment example.
pub(crate) fn payment() -> Result<Vec<Value>> {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/payment/manifests.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
    let documents = text.split("\n---\n").map(serde_saphyr::from_str);
    Ok(documents.collect::<Result<_, _>>()?)
}
