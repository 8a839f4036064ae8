//! What a rule does: the choice by weight, path rewrites, redirects.

use mcwan_policy::RuleMatch;
use mcwan_policy::sla::Level;
use mcwan_policy::wire::{
    Action, Forward, HeaderModifier, Import, Match, PathMatch, PathRewrite, Redirect, RefuseReason, RefuseStatus,
    Scheme, Serves,
};

use super::super::outcome::escaped;
use super::super::{Asked, TableOutcome};
use super::host::without_port;
use super::matching::{path_of, query_of, without_trailing_slash};
use super::{Candidate, choice, key, refusal};

pub(super) fn take(
    import: &Import,
    candidate: Candidate<'_>,
    request: &Asked,
    levels: &[Level],
    draw: u64,
) -> TableOutcome {
    let Candidate { at, alternative } = candidate;
    let Some((action, number)) = choose(&import.rules[at.rule].actions, draw) else {
        return refusal(Some(import), Some(at), 500, "NoBackend");
    };
    let outcome = match action {
        Action::Forward(Forward { target, weight: _, path }) => {
            new_path_of(path.as_ref(), alternative, request).map(|path| forward(import, at, request, *target, path))
        }
        Action::Choose(choose) => new_path_of(choose.path.as_ref(), alternative, request).map(|path| {
            match choice::target(choose, levels, number) {
                Ok(target) => forward(import, at, request, target, path),
                Err(refused) => refusal(Some(import), Some(at), refused.status(), refused.reason()),
            }
        }),
        Action::Redirect(action) => redirect(import, at, alternative, request, action),
        Action::Refuse(action) => {
            let status = match action.status {
                RefuseStatus::InternalServerError => 500,
                RefuseStatus::ServiceUnavailable => 503,
            };
            return refusal(Some(import), Some(at), status, refuse_reason(action.reason));
        }
    };
    outcome.unwrap_or_else(|InvalidFilter| refusal(Some(import), Some(at), 500, "InvalidFilter"))
}

/// The action in whose share of the 2^64 draws this one is, and where in that share, as a part of 2^64.
pub(super) fn choose(actions: &[Action], draw: u64) -> Option<(&Action, u64)> {
    let total: u128 = actions.iter().map(weight).sum();
    let place = u128::from(draw) * total;
    let mut start = 0;
    for action in actions {
        let end = start + (weight(action) << 64);
        if place < end {
            return Some((action, u64::try_from((place - start) / weight(action)).expect("it is within the share")));
        }
        start = end;
    }
    None
}

/// Whether the choice among these actions depends on the draw.
pub(super) fn are_several(actions: &[Action]) -> bool {
    actions.iter().filter(|action| weight(action) > 0).count() > 1
}

/// Whether several sources share what an action sends.
pub(super) fn is_shared(action: &Action, levels: &[Level]) -> bool {
    match action {
        Action::Choose(choose) => choice::takes(choose, levels).is_ok_and(|(_, sources)| sources.len() > 1),
        Action::Forward(_) | Action::Redirect(_) | Action::Refuse(_) => false,
    }
}

fn weight(action: &Action) -> u128 {
    match action {
        Action::Forward(Forward { weight, .. }) | Action::Redirect(Redirect { weight, .. }) => u128::from(*weight),
        Action::Choose(choose) => u128::from(choose.weight),
        Action::Refuse(refuse) => u128::from(refuse.weight),
    }
}

fn refuse_reason(reason: RefuseReason) -> &'static str {
    match reason {
        RefuseReason::BackendNotFound => "BackendNotFound",
        RefuseReason::RefNotPermitted => "RefNotPermitted",
        RefuseReason::TierNotPermitted => "TierNotPermitted",
        RefuseReason::UnsupportedFilter => "UnsupportedFilter",
        RefuseReason::InvalidFilter => "InvalidFilter",
        RefuseReason::InvalidMatch => "InvalidMatch",
        RefuseReason::NoBackend => "NoBackend",
    }
}

/// The values of a filter cannot be.
struct InvalidFilter;

/// The path after a rewrite, if there is one.
fn new_path_of(
    rewrite: Option<&PathRewrite>,
    alternative: &Match,
    request: &Asked,
) -> Result<Option<Vec<u8>>, InvalidFilter> {
    rewrite.map(|rewrite| new_path(Some(rewrite), alternative, request)).transpose()
}

fn forward(import: &Import, at: RuleMatch, request: &Asked, target: u32, path: Option<Vec<u8>>) -> TableOutcome {
    let target = usize::try_from(target).ok().and_then(|index| import.targets.get(index));
    let target = target.expect("generated targets exist");
    TableOutcome::Route {
        import: key(import),
        matched: at,
        authority: match import.serves {
            Serves::Service | Serves::View => format!("{}.{}.svc.cluster.local", import.name, import.namespace),
            Serves::Hosts => String::new(),
        },
        steering: format!("{}.{}", target.name, target.digest),
        path: path.filter(|path| Some(path) != request.path.as_ref()).map(|path| escaped(&path)),
    }
}

fn redirect(
    import: &Import,
    at: RuleMatch,
    alternative: &Match,
    request: &Asked,
    action: &Redirect,
) -> Result<TableOutcome, InvalidFilter> {
    if ![301, 302, 303, 307, 308].contains(&action.status) || action.port == Some(0) {
        return Err(InvalidFilter);
    }
    let scheme = match action.scheme {
        Some(Scheme::Http) => "http",
        Some(Scheme::Https) => "https",
        None => text(request.scheme.as_ref()),
    };
    let host = action.hostname.as_deref().unwrap_or_else(|| without_port(text(request.authority.as_ref())));
    let port = match (action.port, action.scheme) {
        (Some(port), _) => Some(port),
        (None, Some(_)) => None,
        (None, None) => port_of_client(request),
    };
    let port = port.filter(|port| (scheme, *port) != ("http", 80) && (scheme, *port) != ("https", 443));
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let mut location = format!("{scheme}://{host}{port}").into_bytes();
    location.extend(new_path(action.path.as_ref(), alternative, request)?);
    Ok(TableOutcome::Redirect {
        import: key(import),
        matched: at,
        status: action.status,
        headers: modified(vec![("location".to_owned(), escaped(&location))], &action.headers),
    })
}

pub(super) fn port_of_client(request: &Asked) -> Option<u16> {
    request.port.map(|port| client_port(port, text(request.authority.as_ref())))
}

/// The port that the client used: what the authority says is believed only where two ports share the listener.
fn client_port(listener: u16, authority: &str) -> u16 {
    let behind = match listener {
        65_000 => 15_000,
        65_004 => 15_004,
        65_020 => 15_020,
        65_021 => 15_021,
        65_090 => 15_090,
        other => other,
    };
    if authority.ends_with(&format!(":{listener}")) { listener } else { behind }
}

fn text(part: Option<&Vec<u8>>) -> &str {
    part.and_then(|part| std::str::from_utf8(part).ok()).expect("generated requests have it, as text")
}

/// The path after a rewrite, with the query.
fn new_path(rewrite: Option<&PathRewrite>, alternative: &Match, request: &Asked) -> Result<Vec<u8>, InvalidFilter> {
    let path = path_of(request);
    let mut result = match rewrite {
        None => path.to_vec(),
        Some(PathRewrite::Full(value)) => {
            if value.is_empty() || !replacement_is_sound(value) {
                return Err(InvalidFilter);
            }
            value.clone().into_bytes()
        }
        Some(PathRewrite::Prefix(value)) => {
            let prefix = match &alternative.path {
                None => "/",
                Some(PathMatch::Prefix(prefix) | PathMatch::RawPrefix(prefix)) => prefix,
                Some(PathMatch::Exact(_) | PathMatch::Regex(_)) => return Err(InvalidFilter),
            };
            if !replacement_is_sound(value) {
                return Err(InvalidFilter);
            }
            let rest = &path[without_trailing_slash(prefix).len()..];
            let replaced = [without_trailing_slash(value).as_bytes(), rest].concat();
            if replaced.is_empty() { b"/".to_vec() } else { replaced }
        }
    };
    if let Some(query) = query_of(request) {
        result.push(b'?');
        result.extend(query);
    }
    Ok(result)
}

fn replacement_is_sound(value: &str) -> bool {
    let bad = |byte: u8| !byte.is_ascii_graphic() || byte == b'?' || byte == b'#';
    (value.is_empty() || value.starts_with('/')) && !value.bytes().any(bad)
}

/// First `remove`, then `set`, then `add`.
fn modified(mut lines: Vec<(String, String)>, modifier: &HeaderModifier) -> Vec<(String, String)> {
    lines.retain(|(name, _)| !modifier.remove.iter().any(|removed| removed.eq_ignore_ascii_case(name)));
    lines.retain(|(name, _)| !modifier.set.iter().any(|header| header.name.eq_ignore_ascii_case(name)));
    let added = modifier.set.iter().chain(&modifier.add);
    lines.extend(added.map(|header| (header.name.to_ascii_lowercase(), header.value.clone())));
    lines
}
