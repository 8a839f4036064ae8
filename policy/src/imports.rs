//! The imports of a table, and what finds them.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::error::ConfigError;
use crate::host::standard_hosts;
use crate::host_index::HostIndex;
use crate::import::Compiled;
use crate::path::RequestPath;
use crate::path_index::{Found, PathIndex};
use crate::pattern::latin1;
use crate::pattern_pool::PatternPool;
use crate::query::Query;
use crate::request::Request;
use crate::rule::Alternative;
use crate::store::{Import, Store};
use crate::{limits, wire};

/// The imports of a table with what finds them, compiled one by one as they are read, so that the
/// configuration never exists whole beside the table.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    store: Store,
    hosts: HostIndex,
    paths: PathIndex,
    /// The greatest path over the WAN that an action names.
    farthest: Option<Farthest>,
}

/// A path over the WAN, and the action that names it.
#[derive(Clone, Debug)]
struct Farthest {
    path: u32,
    import: String,
    rule: usize,
    backend: usize,
}

/// A host that an import claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The host, or `*.` and a suffix.
    pub host: String,
    /// The place of the import that has it; none: a bare name that several namespaces would have.
    pub owner: Option<usize>,
}

/// Why the imports of a configuration are refused together.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("over {} imports", limits::IMPORTS)]
    Imports,
    #[error("over {} rules", limits::RULES)]
    Rules,
    #[error(
        "over {} different regular expressions, or over {} bytes of them, compiled",
        limits::PATTERNS,
        limits::PATTERNS_COMPILED_BYTES
    )]
    Patterns,
    #[error("import {0:?}: want DNS labels for namespace and name")]
    Name(String),
}

impl Imports {
    fn add(&mut self, import: wire::Import, patterns: &mut PatternPool) -> Result<(), Refusal> {
        let label = format!("{}/{}", import.namespace, import.name);
        self.look_far(&import, &label);
        let mut import = Compiled::new(import, patterns, &mut |_| ()).ok_or(Refusal::Name(label))?;
        if patterns.is_over() {
            return Err(Refusal::Patterns);
        }
        let by_path: Vec<_> = import.scopes.iter_mut().map(|scope| std::mem::take(&mut scope.by_path)).collect();
        let numbers = self.store.add(import).ok_or(Refusal::Imports)?;
        for (number, by_path) in numbers.zip(by_path) {
            for (kind, path, alternatives) in by_path {
                self.paths.add(number, kind, &path, alternatives).ok_or(Refusal::Rules)?;
            }
        }
        let over = |count: u32, bound: usize| usize::try_from(count).is_ok_and(|count| count > bound);
        if over(self.store.kept(), limits::IMPORTS) {
            return Err(Refusal::Imports);
        }
        if over(self.store.rules(), limits::RULES) {
            return Err(Refusal::Rules);
        }
        Ok(())
    }

    fn look_far(&mut self, import: &wire::Import, label: &str) {
        for (rule, wire::Rule { actions, .. }) in import.rules.iter().enumerate() {
            for (backend, action) in actions.iter().enumerate() {
                let wire::Action::Choose(choose) = action else { continue };
                let path = choose.sources().filter_map(|source| source.path).max();
                let known = self.farthest.as_ref().map(|farthest| farthest.path);
                if let Some(path) = path.filter(|_| path > known) {
                    self.farthest = Some(Farthest { path, import: label.to_owned(), rule, backend });
                }
            }
        }
    }

    /// Refuses actions that name a path over the WAN that the configuration, of so many, does not have.
    pub(crate) fn check_paths(&self, paths: usize) -> Result<(), ConfigError> {
        match &self.farthest {
            Some(Farthest { path, import, rule, backend })
                if usize::try_from(*path).is_ok_and(|path| path >= paths) =>
            {
                Err(ConfigError::NoPath { import: import.clone(), rule: *rule, backend: *backend, path: *path })
            }
            Some(_) | None => Ok(()),
        }
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
        let query = Query::new(path.query);
        let found = self
            .paths
            .find(import.number(), path, |alternative| Ok(alternative.mismatch(request, &query)?.is_none()))?;
        if found.is_some() {
            return Ok(found);
        }
        let text = LazyCell::new(|| latin1(path.path));
        for (pattern, alternative) in import.by_regex() {
            if pattern.matches_text(&text) && alternative.mismatch(request, &query)?.is_none() {
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

    /// The hosts that an import claims, and who has them; imports by their places.
    pub(crate) fn claims(&self, place: usize) -> Vec<Claim> {
        let Self { store, hosts, .. } = self;
        let mut claims = Vec::new();
        let scopes = store.scopes(place);
        for import in scopes.clone().filter(|import| import.has_standard_hosts()) {
            let standard = standard_hosts(import.namespace(), import.name()).into_iter();
            let standard = standard.filter(|host| import.has_bare_name() || host.contains('.'));
            claims.extend(standard.map(|host| (hosts.find(&host, store), host)));
        }
        let written: BTreeMap<_, _> = scopes
            .flat_map(Import::hostnames)
            .map(|pattern| (pattern.to_string(), hosts.owner(pattern, store)))
            .collect();
        claims.extend(written.into_iter().map(|(host, owner)| (owner, host)));
        let place = |number: u32| store.import(number).map(Import::place);
        claims.into_iter().map(|(owner, host)| Claim { host, owner: owner.and_then(place) }).collect()
    }
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
