//! The compiled table of one gateway, and the decision.

use std::collections::BTreeMap;
use std::{fmt, io};

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::action::{self, Effect};
use crate::decision::{Decision, REASON_HEADER, Reply, Route};
use crate::error::{ConfigError, Reason};
use crate::host::{request_host, standard_hosts};
use crate::host_index::HostIndex;
use crate::import::Compiled;
use crate::path::RequestPath;
use crate::path_index::{Found, PathIndex};
use crate::pattern_pool::PatternPool;
use crate::request::Request;
use crate::rule::Alternative;
use crate::store::{Import, Store};
use crate::wire::{self, PluginConfig, UnknownHosts};
use crate::{RuleMatch, limits};

/// The rules of one gateway, compiled; read-only and shared.
#[derive(Debug)]
pub struct RouteTable {
    unknown_hosts: UnknownHosts,
    pub(crate) imports: Imports,
}

/// The imports of a table with what finds them, compiled one by one as they are read, so that the
/// configuration never exists whole beside the table.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    store: Store,
    hosts: HostIndex,
    paths: PathIndex,
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
        let PluginConfig { version: _, unknown_hosts, imports } = read?;
        Ok(Self { unknown_hosts, imports })
    }

    /// Decides what is to be done with a request. `draw` gives a uniform number; it is asked only
    /// where weights need one.
    ///
    /// # Errors
    /// Where the request cannot be read: then steering is not certain, and the request must be refused.
    pub fn decide<R: Request>(&self, request: &R, draw: impl FnOnce() -> u64) -> Result<Decision<'_>, R::Error> {
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
            Some(found) => act(import, found, request, path, draw),
            None => Ok(Decision::refuse(Reason::NoRuleMatched, Some(import), None)),
        }
    }

    /// The hosts that an import claims, and who has them; the import by its place in the configuration.
    pub fn claims(&self, import: usize) -> Vec<Claim> {
        let Imports { store, hosts, .. } = &self.imports;
        let Some(import) = u32::try_from(import).ok().and_then(|number| store.import(number)) else {
            return Vec::new();
        };
        let standard = standard_hosts(import.namespace(), import.name()).into_iter();
        let standard = standard.map(|host| (hosts.find(&host, store), host));
        let written: BTreeMap<_, _> =
            import.hostnames().iter().map(|pattern| (pattern.to_string(), hosts.owner(pattern, store))).collect();
        let written = written.into_iter().map(|(host, owner)| (owner, host));
        let claim = |(owner, host): (Option<u32>, String)| Claim {
            host,
            owner: owner.and_then(|owner| usize::try_from(owner).ok()),
        };
        standard.chain(written).map(claim).collect()
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

/// A host that an import claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The host, or `*.` and a suffix.
    pub host: String,
    /// The place of the import that has it; none: a bare name that several namespaces would have.
    pub owner: Option<usize>,
}

impl Imports {
    fn add(&mut self, import: wire::Import, patterns: &mut PatternPool) -> Result<(), Refusal> {
        let label = format!("{}/{}", import.namespace, import.name);
        let mut import = Compiled::new(import, patterns, &mut |_| ()).ok_or(Refusal::Name(label))?;
        if patterns.len() > limits::PATTERNS {
            return Err(Refusal::Patterns);
        }
        let by_path = std::mem::take(&mut import.by_path);
        let number = self.store.add(import).ok_or(Refusal::Imports)?;
        for (kind, path, alternatives) in by_path {
            self.paths.add(number, kind, &path, alternatives).ok_or(Refusal::Rules)?;
        }
        let over = |count: u32, bound: usize| usize::try_from(count).is_ok_and(|count| count > bound);
        if over(self.store.len(), limits::IMPORTS) {
            return Err(Refusal::Imports);
        }
        if over(self.store.rules(), limits::RULES) {
            return Err(Refusal::Rules);
        }
        Ok(())
    }

    /// Makes everything that was added found.
    fn index(&mut self) {
        self.hosts = HostIndex::new(&self.store);
        self.paths.index();
    }

    pub(crate) fn find(&self, host: &str) -> Option<Import<'_>> {
        self.store.import(self.hosts.find(host, &self.store)?)
    }

    /// The highest-ranked alternative that matches: exact paths and prefixes rank before regular
    /// expressions.
    pub(crate) fn first_match<'t, R: Request>(
        &'t self,
        import: Import<'t>,
        request: &R,
        path: RequestPath<'_>,
    ) -> Result<Option<Found<'t>>, R::Error> {
        let found = self
            .paths
            .find(import.number(), path, |alternative| Ok(alternative.mismatch(request, path.query)?.is_none()))?;
        if found.is_some() {
            return Ok(found);
        }
        for (pattern, alternative) in import.by_regex() {
            if pattern.matches(path.path) && alternative.mismatch(request, path.query)?.is_none() {
                return Ok(Some(Found { alternative, prefix: 0 }));
            }
        }
        Ok(None)
    }

    /// Every alternative of an import, and whether its path matches.
    pub(crate) fn alternatives<'t>(
        &'t self,
        import: Import<'t>,
        path: RequestPath<'_>,
    ) -> impl Iterator<Item = (&'t Alternative, bool)> {
        let by_regex = import.by_regex().map(move |(pattern, alternative)| (alternative, pattern.matches(path.path)));
        self.paths.all(import.number(), path).chain(by_regex)
    }
}

fn act<'t, R: Request>(
    import: Import<'t>,
    Found { alternative, prefix }: Found<'t>,
    request: &R,
    path: RequestPath<'_>,
    draw: impl FnOnce() -> u64,
) -> Result<Decision<'t>, R::Error> {
    let matched = alternative.matched();
    let refuse = |reason| Ok(Decision::refuse(reason, Some(import), Some(matched)));
    match action::choose(import.actions(alternative.rule), draw) {
        None => refuse(Reason::NoBackend),
        Some(Effect::Refuse(reason)) => refuse(*reason),
        Some(Effect::Redirect(redirect)) => Ok(Decision::Reply(Reply {
            import: Some(import),
            matched: Some(matched),
            status: redirect.status,
            headers: redirect.headers(request, path, prefix)?,
            body: "",
            reason: None,
        })),
        Some(Effect::Forward { target, path: rewrite }) => match import.target(*target) {
            None => refuse(Reason::BackendNotFound),
            Some(target) => {
                let path = rewrite.as_ref().map(|rewrite| rewrite.apply(path, prefix));
                Ok(Decision::Route(Route { import, matched, target, path }))
            }
        },
    }
}

impl<'t> Decision<'t> {
    /// The answer that a reason has.
    pub fn refuse(reason: Reason, import: Option<Import<'t>>, matched: Option<RuleMatch>) -> Self {
        let status = reason.status(import.map(Import::no_match).unwrap_or_default());
        let headers = vec![(REASON_HEADER.as_bytes().to_vec(), reason.as_str().as_bytes().to_vec())];
        Self::Reply(Reply { import, matched, status, headers, body: reason.sentence(), reason: Some(reason) })
    }
}

/// Why the imports of a configuration are refused together.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("over {} imports", limits::IMPORTS)]
    Imports,
    #[error("over {} rules", limits::RULES)]
    Rules,
    #[error("over {} different regular expressions", limits::PATTERNS)]
    Patterns,
    #[error("import {0:?}: want DNS labels for namespace and name")]
    Name(String),
}

impl<'de> Deserialize<'de> for Imports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Compile;
        impl<'de> Visitor<'de> for Compile {
            type Value = Imports;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of imports")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Imports, A::Error> {
                let mut imports = Imports::default();
                let mut patterns = PatternPool::default();
                while let Some(import) = list.next_element()? {
                    imports.add(import, &mut patterns).map_err(de::Error::custom)?;
                }
                imports.index();
                Ok(imports)
            }
        }
        deserializer.deserialize_seq(Compile)
    }
}
