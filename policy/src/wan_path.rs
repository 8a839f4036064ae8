//! The paths over the WAN that are measured.

use std::time::Duration;

use crate::error::ConfigError;
use crate::sla::{Loss, Promise};
use crate::{host, limits, wire};

/// A path over the WAN, which is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WanPath {
    /// Name of the tier.
    pub tier: Box<str>,
    /// Name of the remote cluster.
    pub cluster: Box<str>,
    /// Namespace of the imports, whose ingress gateway answers.
    pub namespace: Box<str>,
    /// What the tier promises.
    pub promise: Promise,
    /// From one probe to the next.
    pub interval: Duration,
    /// The Envoy cluster that probes go through.
    pub envoy_cluster: Box<str>,
}

/// What can be wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WanPathError {
    /// A name that is empty or too long.
    #[error("{what} has {bytes} bytes: want 1 to {max}")]
    Name {
        /// Whose name.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A namespace that is none.
    #[error("namespace {0:?} is no DNS label")]
    Namespace(String),
    /// A loss of more than everything.
    #[error("a loss of {0} parts per million is more than all")]
    Loss(u32),
    /// An interval out of bounds.
    #[error(
        "an interval of {0} ms: want {least} to {most}",
        least = limits::PROBE_INTERVAL_MS.start(),
        most = limits::PROBE_INTERVAL_MS.end()
    )]
    Interval(u32),
    /// One that is there already.
    #[error("it has tier, cluster and namespace of path {0}")]
    Twice(usize),
}

/// Checks the paths of a configuration.
pub(crate) fn compile(paths: Vec<wire::WanPath>) -> Result<Box<[WanPath]>, ConfigError> {
    if paths.len() > limits::PATHS {
        return Err(ConfigError::Paths(paths.len()));
    }
    let mut compiled: Vec<WanPath> = Vec::with_capacity(paths.len());
    for (index, path) in paths.into_iter().enumerate() {
        let path = WanPath::new(path).and_then(|path| {
            let twin = compiled.iter().position(|known| known.key() == path.key());
            twin.map_or(Ok(path), |twin| Err(WanPathError::Twice(twin)))
        });
        compiled.push(path.map_err(|source| ConfigError::Path { index, source })?);
    }
    Ok(compiled.into())
}

impl WanPath {
    fn new(path: wire::WanPath) -> Result<Self, WanPathError> {
        let wire::WanPath { tier, cluster, namespace, latency_ms, jitter_ms, loss_ppm, interval_ms, envoy_cluster } =
            path;
        if !host::is_label(&namespace) {
            return Err(WanPathError::Namespace(namespace));
        }
        if !limits::PROBE_INTERVAL_MS.contains(&interval_ms) {
            return Err(WanPathError::Interval(interval_ms));
        }
        let milliseconds = |bound: u32| Duration::from_millis(bound.into());
        let loss = |parts| Loss::from_parts_per_million(parts).ok_or(WanPathError::Loss(parts));
        Ok(Self {
            tier: name("the tier", tier, limits::HOST_BYTES)?,
            cluster: name("the cluster", cluster, limits::HOST_BYTES)?,
            namespace: namespace.into(),
            promise: Promise {
                latency: latency_ms.map(milliseconds),
                jitter: jitter_ms.map(milliseconds),
                loss: loss_ppm.map(loss).transpose()?,
            },
            interval: milliseconds(interval_ms),
            envoy_cluster: name("the Envoy cluster", envoy_cluster, limits::TARGET_BYTES)?,
        })
    }

    /// What tells it from all others.
    fn key(&self) -> (&str, &str, &str) {
        (&self.tier, &self.cluster, &self.namespace)
    }
}

fn name(what: &'static str, name: String, max: usize) -> Result<Box<str>, WanPathError> {
    let bytes = name.len();
    if (1..=max).contains(&bytes) { Ok(name.into()) } else { Err(WanPathError::Name { what, bytes, max }) }
}
