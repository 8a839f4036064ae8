//! RESOURCES, "Order of rules".

use mcwan_policy::wire::PathMatch;

use super::Candidate;
use super::matching::{distinct_headers, distinct_query_params, without_trailing_slash};

/// Whether the first goes before the second.
pub(super) fn outranks(one: &Candidate<'_>, other: &Candidate<'_>) -> bool {
    let (path, other_path) = (path_rank(one), path_rank(other));
    if path != other_path {
        return path > other_path;
    }
    let (method, other_method) = (one.alternative.method.is_some(), other.alternative.method.is_some());
    if method != other_method {
        return method;
    }
    let (headers, other_headers) = (distinct_headers(one.alternative).len(), distinct_headers(other.alternative).len());
    if headers != other_headers {
        return headers > other_headers;
    }
    let (params, other_params) =
        (distinct_query_params(one.alternative).len(), distinct_query_params(other.alternative).len());
    if params != other_params {
        return params > other_params;
    }
    (one.at.rule, one.at.alternative) < (other.at.rule, other.at.alternative)
}

/// Exact, then the longer prefix, of which the one that needs its `/` goes first, then regular expressions, the longer first.
fn path_rank(candidate: &Candidate<'_>) -> (u8, usize, bool) {
    match &candidate.alternative.path {
        Some(PathMatch::Exact(_)) => (2, 0, false),
        Some(PathMatch::Prefix(value)) => (1, without_trailing_slash(value).len(), false),
        Some(PathMatch::RawPrefix(value)) => (1, without_trailing_slash(value).len(), true),
        None => (1, 0, false),
        Some(PathMatch::Regex(pattern)) => (0, pattern.len(), false),
    }
}
