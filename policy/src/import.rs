//! Compiles one import.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::action::{self, Action};
use crate::error::{At, ImportError, Part, Reason};
use crate::hash::Hash;
use crate::header::{HeaderMatch, HeaderName, ValueMatch, is_name};
use crate::host::{self, HostPattern};
use crate::index::Index;
use crate::path::{self, PathError, trim_prefix};
use crate::path_index::PathKind;
use crate::pattern::Pattern;
use crate::pattern_pool::PatternPool;
use crate::rule::{Alternative, QueryMatch, Rank, Values};
use crate::{limits, wire};

/// One imported service, compiled but not yet stored.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) canonical_host: String,
    pub(crate) name_bytes: usize,
    pub(crate) namespace_bytes: usize,
    pub(crate) serves: wire::Serves,
    pub(crate) no_match: wire::NoMatch,
    /// A part of it cannot be read, and without that part others would match more: it answers 500.
    pub(crate) broken: Option<Reason>,
    pub(crate) targets: Vec<wire::TargetConfig>,
    /// By the index of the rule.
    pub(crate) actions: Vec<Vec<Action>>,
    /// By the hosts that share rules: last those that are no rule's.
    pub(crate) scopes: Vec<Scope>,
}

/// Hosts of an import, and what is asked of requests there.
#[derive(Debug)]
pub(crate) struct Scope {
    /// The hosts, but for those that follow from the name of a service.
    pub(crate) hostnames: Box<[HostPattern]>,
    /// The alternatives that ask for one path each, the highest rank first.
    pub(crate) by_path: Vec<(PathKind, String, Vec<Alternative>)>,
    /// The alternatives that match the path by regular expression, the highest rank first.
    pub(crate) by_regex: Vec<(Arc<Pattern>, Alternative)>,
}

impl Compiled {
    /// Compiles an import; what is wrong with it is reported, and answers 500 where it must.
    /// None if its name or namespace is none: then nothing can be said of its hosts.
    pub(crate) fn new(
        import: wire::Import,
        patterns: &mut PatternPool,
        report: &mut dyn FnMut(ImportError),
    ) -> Option<Self> {
        let wire::Import { namespace, name, serves, hostnames, no_match, targets, rules } = import;
        let is_name = match serves {
            wire::Serves::Service | wire::Serves::View => host::is_label(&name),
            wire::Serves::Hosts => name.split('.').all(host::is_label),
        };
        if !host::is_label(&namespace) || !is_name {
            return None;
        }
        let mut broken = None;
        let mut report_breakage = |error: ImportError| {
            broken.get_or_insert(error.part.reason());
            report(error);
        };
        let hostnames = compile_hostnames(&hostnames, &mut report_breakage);
        check_targets(&targets).unwrap_or_else(|part| report_breakage(ImportError { at: At::Import, part }));
        let by_host = compile_matches(&rules, hostnames, patterns, &mut report_breakage);
        let actions: Vec<_> = rules
            .into_iter()
            .enumerate()
            .map(|(index, rule)| {
                let by_prefix = rule.matches.iter().all(wire::Match::is_by_prefix);
                action::compile(index, rule.actions, targets.len(), by_prefix, report)
            })
            .collect();
        let import = Self {
            canonical_host: host::canonical_host(&namespace, &name),
            name_bytes: name.len(),
            namespace_bytes: namespace.len(),
            serves,
            no_match,
            broken,
            targets: Vec::new(),
            actions: Vec::new(),
            scopes: by_host.into_iter().map(Scope::new).collect(),
        };
        Some(match broken {
            Some(_) => import.without_matches(),
            None => Self { targets, actions, ..import },
        })
    }

    fn without_matches(mut self) -> Self {
        for scope in &mut self.scopes {
            (scope.by_path, scope.by_regex) = (Vec::new(), Vec::new());
        }
        self
    }
}

impl Scope {
    fn new((hostnames, Matches { by_path, by_regex }): (Box<[HostPattern]>, Matches)) -> Self {
        Self { hostnames, by_path: group(by_path), by_regex: by_rank(by_regex) }
    }
}

/// Everything that is wrong with an import, in the order of its rules.
pub fn check(import: &wire::Import) -> Vec<ImportError> {
    let mut errors = Vec::new();
    Compiled::new(import.clone(), &mut PatternPool::default(), &mut |error| errors.push(error));
    errors
}

impl wire::Match {
    /// Whether the path is matched by prefix, as it is where none is given.
    fn is_by_prefix(&self) -> bool {
        matches!(self.path, None | Some(wire::PathMatch::Prefix(_) | wire::PathMatch::RawPrefix(_)))
    }
}

fn check_targets(targets: &[wire::TargetConfig]) -> Result<(), Part> {
    targets
        .iter()
        .flat_map(|target| [&target.name, &target.digest])
        .try_for_each(|text| Part::length("the name or digest of a target", text, limits::TARGET_BYTES))
}

fn compile_hostnames(hostnames: &[String], report: &mut dyn FnMut(ImportError)) -> Box<[HostPattern]> {
    if let Err(part) = Part::bound("hostnames", hostnames.len(), limits::WIRE_HOSTNAMES) {
        // They stay claimed: an import that answers 500 must not leave its hosts to another.
        report(ImportError { at: At::Import, part });
    }
    let parse = |(index, hostname): (usize, &String)| match hostname.parse() {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            report(ImportError { at: At::Hostname(index), part: Part::Hostname(error) });
            None
        }
    };
    hostnames.iter().enumerate().filter_map(parse).collect()
}

/// The alternatives of an import, by how they ask for the path.
#[derive(Default)]
struct Matches {
    by_path: Vec<(PathKind, String, Rank, Alternative)>,
    by_regex: Vec<(Rank, (Arc<Pattern>, Alternative))>,
}

/// The hosts that rules name, each with its alternatives; last those that none names.
type ByHost = Vec<(Box<[HostPattern]>, Matches)>;

fn compile_matches(
    rules: &[wire::Rule],
    hostnames: Box<[HostPattern]>,
    patterns: &mut PatternPool,
    report: &mut dyn FnMut(ImportError),
) -> ByHost {
    let mut by_host = ByHost::new();
    let mut others = Matches::default();
    if let Err(part) = Part::bound("rules", rules.len(), limits::IMPORT_RULES) {
        report(ImportError { at: At::Import, part });
        return vec![(hostnames, others)];
    }
    let host_of = |rule: u32| usize::try_from(rule).ok().and_then(|rule| rules.get(rule)?.host.as_deref());
    let hash = |host: &str| Hash::new().bytes(host.as_bytes()).finish();
    // The first rule of each host.
    let first =
        Index::new(rules.len().try_into().unwrap_or_default(), &|rule| host_of(rule).map(hash), &mut |new, old| {
            host_of(new) == host_of(old)
        });
    // By rule, the place of its host, where it is the first that names it.
    let mut places = vec![usize::MAX; rules.len()];
    for (rule, wire::Rule { host, ports, matches: alternatives, actions: _ }) in rules.iter().enumerate() {
        let known = host.as_deref().and_then(|host| {
            first
                .candidates(hash(host))
                .find(|known| host_of(*known) == Some(host))
                .and_then(|known| known.try_into().ok())
        });
        if known == Some(rule) {
            match host.as_deref().unwrap_or_default().parse() {
                Ok(host) => {
                    if let Some(place) = places.get_mut(rule) {
                        *place = by_host.len();
                    }
                    by_host.push(([host].into(), Matches::default()));
                }
                Err(error) => report(ImportError { at: At::Rule(rule), part: Part::Hostname(error) }),
            }
        }
        let matches = match known {
            None => &mut others,
            Some(known) => match places.get(known).and_then(|place| by_host.get_mut(*place)) {
                Some((_, matches)) => matches,
                // It is no host.
                None => continue,
            },
        };
        if let Err(part) = Part::bound("ports", ports.len(), limits::RULE_PORTS) {
            report(ImportError { at: At::Rule(rule), part });
            continue;
        }
        if let Err(part) = Part::bound("matches", alternatives.len(), limits::RULE_MATCHES) {
            report(ImportError { at: At::Rule(rule), part });
            continue;
        }
        let (anything, is_any) = ([wire::Match::default()], alternatives.is_empty());
        let alternatives = if is_any { &anything[..] } else { alternatives };
        for (index, alternative) in alternatives.iter().enumerate() {
            let (place, at) = if is_any { (None, At::Rule(rule)) } else { (Some(index), At::Match(rule, index)) };
            matches.add(alternative, ports, (rule, place), patterns).unwrap_or_else(|part| {
                report(ImportError { at, part });
            });
        }
    }
    by_host.push((hostnames, others));
    by_host
}

impl Matches {
    fn add(
        &mut self,
        alternative: &wire::Match,
        ports: &[u16],
        (rule, index): (usize, Option<usize>),
        patterns: &mut PatternPool,
    ) -> Result<(), Part> {
        Part::bound("headers", alternative.headers.len(), limits::MATCH_HEADERS)?;
        Part::bound("query parameters", alternative.query_params.len(), limits::MATCH_QUERY_PARAMS)?;
        let mut alternative = alternative.clone();
        alternative.keep_first_of_equal_names();
        let rank = Rank::new(&alternative, rule, index.unwrap_or_default());
        let wire::Match { path, method, headers, query_params } = alternative;
        let too_many = |_| Part::TooMany { what: "rules", count: rule, max: limits::IMPORT_RULES };
        let alternative = Alternative {
            rule: u16::try_from(rule).map_err(too_many)?,
            index: index.map(u8::try_from).transpose().map_err(too_many)?,
            method,
            values: compile_values(ports, headers, query_params, patterns)?,
        };
        let (kind, path) = match path {
            Some(wire::PathMatch::Regex(pattern)) => {
                self.by_regex.push((rank, (patterns.get(&pattern)?, alternative)));
                return Ok(());
            }
            Some(wire::PathMatch::Exact(path)) => {
                check_path(&path)?;
                (PathKind::Exact, path)
            }
            Some(wire::PathMatch::Prefix(path)) => {
                check_path(&path)?;
                (PathKind::Prefix, trim_prefix(&path).to_owned())
            }
            Some(wire::PathMatch::RawPrefix(path)) => {
                check_path(&path)?;
                let inside = path.strip_suffix('/').ok_or_else(|| PathError::Open(path.clone()))?;
                (PathKind::RawPrefix, inside.to_owned())
            }
            None => (PathKind::Prefix, String::new()),
        };
        self.by_path.push((kind, path, rank, alternative));
        Ok(())
    }
}

fn check_path(value: &str) -> Result<(), Part> {
    Part::length("the path", value, limits::PATH_BYTES)?;
    Ok(path::check(value)?)
}

fn compile_values(
    ports: &[u16],
    headers: Vec<wire::ValueMatch>,
    query_params: Vec<wire::ValueMatch>,
    patterns: &mut PatternPool,
) -> Result<Option<Box<Values>>, Part> {
    if ports.is_empty() && headers.is_empty() && query_params.is_empty() {
        return Ok(None);
    }
    let header = |wire::ValueMatch { name, value }| {
        let value = compile_value(value, patterns)?;
        HeaderName::parse(&name).map(|name| HeaderMatch { name, value }).ok_or(Part::Name(name))
    };
    let headers = headers.into_iter().map(header).collect::<Result<_, _>>()?;
    let query_param = |wire::ValueMatch { name, value }| {
        let value = compile_value(value, patterns)?;
        if is_name(&name) { Ok(QueryMatch { name: name.into(), value }) } else { Err(Part::Name(name)) }
    };
    let query_params = query_params.into_iter().map(query_param).collect::<Result<_, _>>()?;
    Ok(Some(Box::new(Values { ports: ports.into(), headers, query_params })))
}

fn compile_value(value: wire::Value, patterns: &mut PatternPool) -> Result<ValueMatch, Part> {
    match value {
        wire::Value::Exact(exact) => {
            Part::length("the value", &exact, limits::VALUE_BYTES)?;
            Ok(ValueMatch::Exact(exact.into()))
        }
        wire::Value::Regex(pattern) => Ok(ValueMatch::Pattern(patterns.get(&pattern)?)),
    }
}

fn by_rank<T>(mut ranked: Vec<(Rank, T)>) -> Vec<T> {
    ranked.sort_by_key(|(rank, _)| Reverse(*rank));
    ranked.into_iter().map(|(_, item)| item).collect()
}

fn group(mut by_path: Vec<(PathKind, String, Rank, Alternative)>) -> Vec<(PathKind, String, Vec<Alternative>)> {
    by_path.sort_by(|(kind, path, rank, _), (other_kind, other_path, other_rank, _)| {
        (kind, path, Reverse(rank)).cmp(&(other_kind, other_path, Reverse(other_rank)))
    });
    let mut groups: Vec<(PathKind, String, Vec<Alternative>)> = Vec::new();
    for (kind, path, _, alternative) in by_path {
        match groups.last_mut().filter(|(last_kind, last, _)| *last_kind == kind && *last == path) {
            Some((_, _, alternatives)) => alternatives.push(alternative),
            None => groups.push((kind, path, vec![alternative])),
        }
    }
    groups
}
