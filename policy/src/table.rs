//! The compiled table of one gateway, and the decision.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::action::Action;
use crate::decision::{Decision, REASON_HEADER, Reply, Route};
use crate::error::{ConfigError, Reason};
use crate::host::{HostKind, request_host, standard_hosts};
use crate::host_index::HostIndex;
use crate::import::{Body, Import, Rules};
use crate::path::RequestPath;
use crate::path_index::{Found, PathIndex};
use crate::pattern_pool::PatternPool;
use crate::request::Request;
use crate::rule::Alternative;
use crate::wire::{self, NoMatch, PluginConfig, UnknownHosts};
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
    list: Vec<Import>,
    hosts: HostIndex,
    pub(crate) paths: PathIndex,
    rules: usize,
}

impl RouteTable {
    /// Reads and compiles a configuration ([`wire::PluginConfig`] as JSON).
    ///
    /// # Errors
    /// Only where the whole cannot be read or is over a bound. An import that cannot be compiled
    /// answers 500, alone.
    pub fn from_json(json: &[u8]) -> Result<Self, ConfigError> {
        if json.len() > limits::CONFIG_BYTES {
            return Err(ConfigError::Bytes(json.len()));
        }
        let read: Result<PluginConfig<Imports>, _> = serde_json::from_slice(json);
        let version = match &read {
            Ok(config) => Some(config.version),
            Err(_) => serde_json::from_slice::<wire::Version>(json).ok().map(|envelope| envelope.version),
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
        let Some((number, import)) = self.imports.find(&host) else {
            return Ok(match self.unknown_hosts {
                UnknownHosts::Pass => Decision::Pass,
                UnknownHosts::Refuse => Decision::refuse(Reason::UnknownHost, None, None),
            });
        };
        let path = request.path()?;
        let Some(path) = path.as_deref().and_then(RequestPath::parse) else {
            return Ok(Decision::refuse(Reason::BadRequest, Some(import), None));
        };
        let rules = match &import.body {
            Body::Sound(rules) => rules,
            Body::Broken(reason) => return Ok(Decision::refuse(*reason, Some(import), None)),
        };
        match self.imports.first_match(number, rules, request, path)? {
            Some(found) => act(import, rules, found, request, path, draw),
            None => Ok(Decision::refuse(Reason::NoRuleMatched, Some(import), None)),
        }
    }

    /// The hosts that an import claims, and who has them; the import by its place in the configuration.
    pub fn claims(&self, import: usize) -> Vec<Claim> {
        let Imports { list, hosts, .. } = &self.imports;
        let Some(own) = list.get(import) else {
            return Vec::new();
        };
        let claim = |host: String, owner: Option<u32>| Claim {
            host,
            owner: owner.and_then(|owner| usize::try_from(owner).ok()),
        };
        let standard = standard_hosts(own.namespace(), own.name()).into_iter();
        let standard = standard.map(|host| {
            let owner = hosts.find(&host, list);
            claim(host, owner)
        });
        let written = own.hostnames().iter().map(|pattern| {
            let owner = match pattern.kind() {
                HostKind::Exact(host) => hosts.find(host, list),
                HostKind::Wildcard(suffix) => hosts.wildcard(suffix),
            };
            claim(pattern.to_string(), owner)
        });
        standard.chain(written).collect()
    }
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
        self.rules += import.rules.len();
        let number = u32::try_from(self.list.len()).map_err(|_| Refusal::Imports)?;
        let (import, paths) = Import::compile(import, patterns, &mut |_| ()).ok_or(Refusal::Name(label))?;
        if self.list.len() >= limits::IMPORTS {
            return Err(Refusal::Imports);
        }
        if self.rules > limits::RULES {
            return Err(Refusal::Rules);
        }
        if patterns.len() > limits::PATTERNS {
            return Err(Refusal::Patterns);
        }
        self.list.push(import);
        if let Some(import) = self.list.last() {
            self.hosts.insert(number, import, &self.list);
        }
        for (key, alternatives) in paths {
            self.paths.insert(number, key, alternatives);
        }
        Ok(())
    }

    pub(crate) fn find(&self, host: &str) -> Option<(u32, &Import)> {
        let number = self.hosts.find(host, &self.list)?;
        Some((number, self.list.get(usize::try_from(number).ok()?)?))
    }

    /// The highest-ranked alternative that matches: exact paths and prefixes rank before regular
    /// expressions.
    pub(crate) fn first_match<'t, R: Request>(
        &'t self,
        number: u32,
        rules: &'t Rules,
        request: &R,
        path: RequestPath<'_>,
    ) -> Result<Option<Found<'t>>, R::Error> {
        let found =
            self.paths.find(number, path, |alternative| Ok(alternative.mismatch(request, path.query)?.is_none()))?;
        if found.is_some() {
            return Ok(found);
        }
        for (pattern, alternative) in &rules.by_regex {
            if pattern.matches(path.path) && alternative.mismatch(request, path.query)?.is_none() {
                return Ok(Some(Found { alternative, prefix: 0 }));
            }
        }
        Ok(None)
    }

    /// Every alternative of an import, and whether its path matches.
    pub(crate) fn alternatives<'t>(
        &'t self,
        number: u32,
        rules: &'t Rules,
        path: RequestPath<'_>,
    ) -> impl Iterator<Item = (&'t Alternative, bool)> {
        let by_path = self.paths.groups(number).flat_map(move |(key, alternatives)| {
            let on_path = key.matches(path);
            alternatives.iter().map(move |alternative| (alternative, on_path))
        });
        let by_regex = rules.by_regex.iter();
        by_path.chain(by_regex.map(move |(pattern, alternative)| (alternative, pattern.matches(path.path))))
    }
}

fn act<'t, R: Request>(
    import: &'t Import,
    rules: &'t Rules,
    Found { alternative, prefix }: Found<'t>,
    request: &R,
    path: RequestPath<'_>,
    draw: impl FnOnce() -> u64,
) -> Result<Decision<'t>, R::Error> {
    let matched = alternative.matched();
    let action = rules.actions.get(matched.rule).and_then(|actions| actions.choose(draw));
    let refuse = |reason| Ok(Decision::refuse(reason, Some(import), Some(matched)));
    match action {
        None => refuse(Reason::NoBackend),
        Some(Action::Refuse(reason)) => refuse(*reason),
        Some(Action::Redirect(redirect)) => Ok(Decision::Reply(Reply {
            import: Some(import),
            matched: Some(matched),
            status: redirect.status,
            headers: redirect.headers(request, path, prefix)?,
            body: "",
            reason: None,
        })),
        Some(Action::Forward { target, path: rewrite }) => match rules.targets.get(*target) {
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
    pub fn refuse(reason: Reason, import: Option<&'t Import>, matched: Option<RuleMatch>) -> Self {
        let no_match = match import.map(|import| &import.body) {
            Some(Body::Sound(rules)) => rules.no_match,
            Some(Body::Broken(_)) | None => NoMatch::default(),
        };
        let status = match reason {
            Reason::NoRuleMatched => no_match.status(),
            Reason::BadRequest => 400,
            Reason::UnknownHost => 404,
            Reason::Internal => 503,
            Reason::NoBackend
            | Reason::BackendNotFound
            | Reason::RefNotPermitted
            | Reason::UnsupportedFilter
            | Reason::InvalidFilter
            | Reason::InvalidMatch
            | Reason::TooLarge => 500,
        };
        let headers = vec![(REASON_HEADER.as_bytes().to_vec(), reason.as_str().as_bytes().to_vec())];
        Self::Reply(Reply { import, matched, status, headers, body: reason.sentence(), reason: Some(reason) })
    }
}

impl NoMatch {
    /// HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooManyRequests => 429,
            Self::ServiceUnavailable => 503,
        }
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
                imports.list.shrink_to_fit();
                imports.paths.shrink_to_fit();
                Ok(imports)
            }
        }
        deserializer.deserialize_seq(Compile)
    }
}
