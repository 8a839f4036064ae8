//! The compiled table of one gateway, and the decision.

use std::io;

use serde::Deserialize;

use crate::action::{self, Effect};
use crate::decision::{Decision, Reply, Route};
use crate::error::{ConfigError, Reason};
use crate::host::request_host;
use crate::imports::{Claim, Imports};
use crate::limits;
use crate::path::RequestPath;
use crate::path_index::Found;
use crate::request::Request;
use crate::rewrite::PathRewrite;
use crate::sla::Levels;
use crate::store::Import;
use crate::wan_path::{self, WanPath};
use crate::wire::{self, PluginConfig, UnknownHosts};

/// The rules of one gateway, compiled; read-only and shared.
#[derive(Debug)]
pub struct RouteTable {
    revision: Option<u64>,
    unknown_hosts: UnknownHosts,
    pub(crate) paths: Box<[WanPath]>,
    pub(crate) imports: Imports,
}

impl RouteTable {
    /// Reads and compiles a configuration ([`wire::PluginConfig`] as JSON).
    ///
    /// # Errors
    /// Only where the whole cannot be read or is over a bound. An import that cannot be compiled
    /// answers 500, alone.
    pub fn from_json(json: &[u8]) -> Result<Self, ConfigError> {
        Self::read(json.len(), || serde_json::Deserializer::from_slice(json))
    }

    /// The same from a source that need not be in memory. It has so many bytes, and is opened once more
    /// if it cannot be read, to tell whether it has another version.
    pub fn from_reader<R: io::Read>(bytes: usize, open: impl Fn() -> R) -> Result<Self, ConfigError> {
        Self::read(bytes, || serde_json::Deserializer::from_reader(open()))
    }

    fn read<'de, R: serde_json::de::Read<'de>>(
        bytes: usize,
        open: impl Fn() -> serde_json::Deserializer<R>,
    ) -> Result<Self, ConfigError> {
        if bytes > limits::CONFIG_BYTES {
            return Err(ConfigError::Bytes(bytes));
        }
        let read: Result<PluginConfig<Imports>, _> = parse(open());
        let version = match &read {
            Ok(config) => Some(config.version),
            Err(_) => parse::<_, wire::Version>(open()).ok().map(|envelope| envelope.version),
        };
        if let Some(version) = version.filter(|version| *version != wire::VERSION) {
            return Err(ConfigError::Version(version));
        }
        let PluginConfig { version: _, revision, unknown_hosts, paths, imports } = read?;
        if let Some(revision) = revision.filter(|revision| *revision >= limits::REVISIONS) {
            return Err(ConfigError::Revision(revision));
        }
        let paths = wan_path::compile(paths)?;
        imports.check_paths(paths.len())?;
        Ok(Self { revision, unknown_hosts, paths, imports })
    }

    /// What the writer of the configuration calls it ([`PluginConfig::revision`]).
    pub fn revision(&self) -> Option<u64> {
        self.revision
    }

    /// What is to be measured for it; [`Levels`] are by these places.
    pub fn paths(&self) -> &[WanPath] {
        &self.paths
    }

    /// Decides what is done with a request, while paths over the WAN are on these levels. `draw` gives a uniform number;
    /// it is asked once at most, and only where weights need one.
    ///
    /// # Errors
    /// Where the request cannot be read: then steering is not certain, and the request must be refused.
    pub fn decide<R: Request>(
        &self,
        request: &R,
        levels: Levels<'_>,
        draw: impl FnOnce() -> u64,
    ) -> Result<Decision<'_>, R::Error> {
        let authority = request.authority()?;
        let Some(host) = authority.as_deref().and_then(request_host) else {
            return Ok(Decision::refuse(Reason::BadRequest, None, None));
        };
        let Some(import) = self.imports.find(&host) else {
            return Ok(match self.unknown_hosts {
                UnknownHosts::Pass => Decision::Pass,
                UnknownHosts::Refuse => Decision::refuse(Reason::UnknownHost, None, None),
            });
        };
        let path = request.path()?;
        let Some(path) = path.as_deref().and_then(RequestPath::parse) else {
            return Ok(Decision::refuse(Reason::BadRequest, Some(import), None));
        };
        if let Some(reason) = import.broken() {
            return Ok(Decision::refuse(reason, Some(import), None));
        }
        match self.imports.first_match(import, request, path)? {
            Some(found) => act(import, found, request, path, levels, draw),
            None => Ok(Decision::refuse(Reason::NoRuleMatched, Some(import), None)),
        }
    }

    /// The hosts that an import claims, and who has them; the import by its place in the configuration.
    pub fn claims(&self, import: usize) -> Vec<Claim> {
        self.imports.claims(import)
    }
}

/// Reads one JSON value with nothing behind it.
fn parse<'de, R: serde_json::de::Read<'de>, T: Deserialize<'de>>(
    mut json: serde_json::Deserializer<R>,
) -> serde_json::Result<T> {
    let value = T::deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

fn act<'t, R: Request>(
    import: Import<'t>,
    Found { alternative, prefix }: Found<'t>,
    request: &R,
    path: RequestPath<'_>,
    levels: Levels<'_>,
    draw: impl FnOnce() -> u64,
) -> Result<Decision<'t>, R::Error> {
    let matched = alternative.matched();
    let refuse = |reason| Ok(Decision::refuse(reason, Some(import), Some(matched)));
    let forward = |target, rewrite: Option<&PathRewrite>| match import.target(target) {
        None => refuse(Reason::BackendNotFound),
        Some(target) => {
            let path = rewrite.map(|rewrite| rewrite.apply(path, prefix));
            Ok(Decision::Route(Route { import, matched, target, path }))
        }
    };
    let Some((effect, draw)) = action::choose(import.actions(alternative.rule), draw) else {
        return refuse(Reason::NoBackend);
    };
    match effect {
        Effect::Forward { target, path } => forward(*target, path.as_deref()),
        Effect::Choose(choice) => match choice.target(levels, draw) {
            Ok(target) => forward(target, choice.path.as_ref()),
            Err(reason) => refuse(reason),
        },
        Effect::Redirect(redirect) => Ok(Decision::Reply(Reply {
            import: Some(import),
            matched: Some(matched),
            status: redirect.status,
            headers: redirect.headers(request, path, prefix)?,
            body: "",
            reason: None,
        })),
        Effect::Refuse(reason, status) => Ok(Decision::answer(*reason, status.code(), Some(import), Some(matched))),
    }
}
