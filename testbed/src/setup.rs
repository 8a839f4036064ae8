//! What is known before anything starts: resources at a loopback address, and what they mean to Envoy.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use mcwan::files;
use mcwan::steering_secret;
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::envoy::{self, EnvoyOptions};
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::snapshot::finding::Finding;
use mcwan_core::translate::{self, FrontEnds, Options, RouteOptions, Steering, Translation, Trust};
use mcwan_policy::wire::UnknownHosts;
use serde_json::Value;

use crate::environment::Environment;
use crate::example::{Destination, Example};
use crate::loopback::Loopback;
use crate::mode::Mode;
use crate::relocate::{destinations, relocate};
use crate::testbed::Testbed;
use crate::tools;

/// Everything that a [`Testbed`] needs.
#[derive(Debug)]
pub struct Setup {
    /// What the resources mean.
    pub translation: Translation,
    /// What the filter is told, and the table that it makes of it.
    pub plugin: Plugin,
    /// Envoy's configuration.
    pub config: Value,
    /// What cannot be honoured.
    pub problems: Vec<Problem>,
    loopback: Loopback,
    destinations: BTreeMap<u16, Destination>,
}

impl Setup {
    /// Sets an example up.
    ///
    /// # Errors
    /// Its manifests are wrong, or [`Setup::new`] fails.
    pub fn of_example(example: &Example, mode: Mode) -> Result<Self> {
        let gathered = files::from_paths(&[&example.manifests]);
        let findings: Vec<_> = gathered.findings.iter().map(describe).collect();
        ensure!(gathered.is_complete(), "{} is wrong: {}", example.manifests.display(), findings.join("; "));
        Self::new(gathered.snapshot, mode).with_context(|| format!("example {}", example.name))
    }

    /// Takes an address and works out what runs there.
    ///
    /// # Errors
    /// No address is free, the module is missing, the filter would refuse its configuration, or two
    /// destinations share a port.
    pub fn new(mut snapshot: Snapshot, mode: Mode) -> Result<Self> {
        let loopback = Loopback::take()?;
        relocate(&mut snapshot, loopback.address());
        let destinations = destinations(&snapshot)?;
        let (data_plane, steering) = match mode {
            Mode::RouteHeader => (DataPlane::Wasm, Steering::RouteHeader),
            Mode::ClusterHeader => (DataPlane::Wasm, Steering::ClusterHeader),
            Mode::Native => (DataPlane::Native, Steering::RouteHeader),
        };
        let options = Options {
            cluster: None,
            steering_key: steering_secret::random()?,
            steering,
            mcs_version: McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        };
        let translation = translate::translate(&snapshot, &options);
        let plugin = Plugin::new(&translation.imports, UnknownHosts::Pass)?;
        let bind_address = loopback.address().into();
        let options = EnvoyOptions { data_plane, steering, module: tools::module()?, bind_address, admin: None };
        let (config, unsaid) = envoy::render(&snapshot, &translation, &plugin, &options);
        let mut problems = translation.problems.clone();
        problems.extend(plugin.problems(&translation.imports));
        problems.extend(unsaid);
        Ok(Self { translation, plugin, config, problems, loopback, destinations })
    }

    /// Starts the upstreams and Envoy.
    ///
    /// # Errors
    /// Envoy would listen on no port, or [`Environment::start`] fails.
    pub async fn start(self) -> Result<Testbed> {
        let Self { translation, plugin, config, problems: _, loopback, destinations } = self;
        let ports = translation.imports.iter().flat_map(|import| &import.ports);
        let port = *ports.min().context("no import has a port, so Envoy would listen on none")?;
        let environment = Environment::start(loopback, destinations, &config).await?;
        Ok(Testbed { environment, translation, plugin, port })
    }
}

fn describe(Finding { place, message, .. }: &Finding) -> String {
    place.as_ref().map_or_else(|| message.clone(), |place| format!("{place}: {message}"))
}
