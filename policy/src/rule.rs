//! One alternative of a rule, what it asks for beside the path, and its rank among the others.

use std::cmp::Reverse;

use crate::decision::RuleMatch;
use crate::header::{HeaderMatch, ValueMatch};
use crate::listener::client_port;
use crate::path::trim_prefix;
use crate::query::Query;
use crate::request::Request;
use crate::wire;

/// The order of alternatives that match the same request: the greatest wins
/// (Gateway API, `HTTPRouteRule.matches`; among paths istiod's order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    path: PathRank,
    method: bool,
    headers: usize,
    query_params: usize,
    earlier: Reverse<(usize, usize)>,
}

/// The order among paths, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathRank {
    /// The longer expression wins.
    Regex(usize),
    /// The longer prefix wins; of those that differ in the `/` at their end alone, the one that needs it.
    Prefix(usize, bool),
    Exact,
}

impl Rank {
    /// The rank of an alternative, by the indices of its rule and of itself in its rule.
    pub fn new(alternative: &wire::Match, rule: usize, index: usize) -> Self {
        let wire::Match { path, method, headers, query_params } = alternative;
        let path = match path {
            Some(wire::PathMatch::Exact(_)) => PathRank::Exact,
            Some(wire::PathMatch::Prefix(prefix)) => PathRank::Prefix(trim_prefix(prefix).len(), false),
            Some(wire::PathMatch::RawPrefix(prefix)) => PathRank::Prefix(trim_prefix(prefix).len(), true),
            Some(wire::PathMatch::Regex(pattern)) => PathRank::Regex(pattern.len()),
            None => PathRank::Prefix(0, false),
        };
        Self {
            path,
            method: method.is_some(),
            headers: headers.len(),
            query_params: query_params.len(),
            earlier: Reverse((rule, index)),
        }
    }
}

impl wire::Match {
    /// Keeps of the headers and query parameters of equal names the first (Gateway API,
    /// `HTTPHeaderMatch.name`, `HTTPQueryParamMatch.name`).
    pub fn keep_first_of_equal_names(&mut self) {
        let mut seen = Vec::new();
        self.headers.retain(|header| {
            let name = header.name.to_ascii_lowercase();
            let first = !seen.contains(&name);
            seen.push(name);
            first
        });
        seen.clear();
        self.query_params.retain(|parameter| {
            let first = !seen.contains(&parameter.name);
            seen.push(parameter.name.clone());
            first
        });
    }
}

/// An alternative of a rule without its path, by which it is found.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) rule: u16,
    /// The index of the match in its rule; none for a rule without matches.
    pub(crate) index: Option<u8>,
    pub(crate) method: Option<wire::Method>,
    /// Boxed, as most alternatives have none.
    pub(crate) values: Option<Box<Values>>,
}

/// What an alternative asks of the port, of headers and of query parameters.
#[derive(Debug)]
pub(crate) struct Values {
    /// The ports that clients use; none: all.
    pub(crate) ports: Box<[u16]>,
    pub(crate) headers: Box<[HeaderMatch]>,
    pub(crate) query_params: Box<[QueryMatch]>,
}

/// One query parameter of a match.
#[derive(Debug)]
pub(crate) struct QueryMatch {
    pub(crate) name: Box<str>,
    pub(crate) value: ValueMatch,
}

/// What of an alternative does not hold for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch<'t> {
    Port,
    Method(wire::Method),
    Header(&'t str),
    QueryParam(&'t str),
}

impl Alternative {
    pub(crate) fn matched(&self) -> RuleMatch {
        RuleMatch { rule: self.rule.into(), alternative: self.index.map(Into::into) }
    }

    /// The first thing beside the path that does not hold, what costs the least to look at first.
    pub(crate) fn mismatch<R: Request>(
        &self,
        request: &R,
        query: &Query<'_>,
    ) -> Result<Option<Mismatch<'_>>, R::Error> {
        if let Some(method) = self.method
            && request.method()?.as_deref() != Some(method.as_str().as_bytes())
        {
            return Ok(Some(Mismatch::Method(method)));
        }
        let Some(values) = &self.values else {
            return Ok(None);
        };
        if !values.ports.is_empty() && !client_port(request)?.is_some_and(|port| values.ports.contains(&port)) {
            return Ok(Some(Mismatch::Port));
        }
        for parameter in &values.query_params {
            let value = query.first_value(parameter.name.as_bytes());
            if !value.is_some_and(|value| parameter.value.matches(value)) {
                return Ok(Some(Mismatch::QueryParam(&parameter.name)));
            }
        }
        for header in &values.headers {
            if !header.matches(request)? {
                return Ok(Some(Mismatch::Header(header.name.as_str())));
            }
        }
        Ok(None)
    }
}
