//! Actions with their weights.

use mcwan_policy::wire::{
    Action, Candidate, Choose, Forward, Header, HeaderModifier, PathRewrite, Redirect, Refuse, RefuseReason,
    RefuseStatus, Scheme, Source, WhenNoneInSla,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The actions of a rule: mostly one, sometimes none or several.
pub(super) fn actions(replaces_prefix: bool) -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => forward(replaces_prefix).prop_map(Action::Forward),
        3 => choice(replaces_prefix).prop_map(Action::Choose),
        2 => redirect(replaces_prefix).prop_map(Action::Redirect),
        1 => refuse().prop_map(Action::Refuse),
    ];
    prop_oneof![1 => Just(Vec::new()), 12 => vec(action.clone(), 1), 6 => vec(action, 2..5)]
}

fn weight() -> impl Strategy<Value = u32> + Clone {
    select(&[0, 1, 1, 2, 9, 90, u32::MAX])
}

fn forward(replaces_prefix: bool) -> impl Strategy<Value = Forward> + Clone {
    let path = option::weighted(0.3, path_rewrite(replaces_prefix));
    (0..3_u32, weight(), path).prop_map(|(target, weight, path)| Forward { target, weight, path })
}

/// Of the paths of [`super::paths`], each once; at most one source of a candidate is this cluster.
pub(crate) fn choice(replaces_prefix: bool) -> impl Strategy<Value = Choose> + Clone {
    let paths = Just((0..super::PATHS).collect::<Vec<_>>()).prop_shuffle();
    let candidates = vec((0..3_u32, vec(weight(), 1..=3), option::weighted(0.3, any::<prop::sample::Index>())), 1..=4);
    let candidates = (paths, candidates).prop_map(|(paths, candidates)| {
        let mut paths = paths.into_iter();
        let candidate = |(first, weights, own): (u32, Vec<u32>, Option<prop::sample::Index>)| {
            let own = own.map(|own| own.index(weights.len()));
            let sources = weights.into_iter().enumerate().map(|(index, weight)| Source {
                target: (first + u32::try_from(index).expect("at most 3")) % 3,
                weight,
                path: if own == Some(index) { None } else { paths.next() },
            });
            Candidate { sources: sources.collect() }
        };
        candidates.into_iter().map(candidate).collect::<Vec<_>>()
    });
    let path = option::weighted(0.3, path_rewrite(replaces_prefix));
    let when = select(&[WhenNoneInSla::Preferred, WhenNoneInSla::Refuse]);
    (weight(), path, candidates, when).prop_map(|(weight, path, candidates, when_none_in_sla)| Choose {
        weight,
        path,
        candidates,
        when_none_in_sla,
    })
}

fn redirect(replaces_prefix: bool) -> impl Strategy<Value = Redirect> + Clone {
    let status = select(&[301, 302, 303, 307, 308, 302, 200]);
    let scheme = option::of(select(&[Scheme::Http, Scheme::Https]));
    let hostname = option::of(Just("new.example.com".to_owned()));
    let port = option::of(select(&[80, 443, 8080, 8443]));
    let path = option::of(path_rewrite(replaces_prefix));
    (weight(), status, scheme, hostname, port, path, header_modifier()).prop_map(
        |(weight, status, scheme, hostname, port, path, headers)| Redirect {
            weight,
            status,
            scheme,
            hostname,
            port,
            path,
            headers,
        },
    )
}

/// At most one action for a header name, as Gateway API asks.
fn header_modifier() -> impl Strategy<Value = HeaderModifier> + Clone {
    let header = |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
    let modifier = HeaderModifier {
        set: vec![header("x-set", "1")],
        add: vec![header("X-Add", "2")],
        remove: vec!["x-remove".to_owned()],
    };
    prop_oneof![2 => Just(HeaderModifier::default()), 1 => Just(modifier)]
}

fn refuse() -> impl Strategy<Value = Refuse> + Clone {
    let reasons = &[
        RefuseReason::BackendNotFound,
        RefuseReason::RefNotPermitted,
        RefuseReason::TierNotPermitted,
        RefuseReason::UnsupportedFilter,
        RefuseReason::InvalidFilter,
        RefuseReason::InvalidMatch,
        RefuseReason::NoBackend,
    ];
    let statuses = &[RefuseStatus::InternalServerError, RefuseStatus::ServiceUnavailable];
    let parts = (weight(), select(reasons), select(statuses));
    parts.prop_map(|(weight, reason, status)| Refuse { weight, reason, status })
}

fn path_rewrite(replaces_prefix: bool) -> BoxedStrategy<PathRewrite> {
    let full = select(&["/", "/x", "/x/", "/x/y", "/x%20y", "/a", "x", ""]);
    let full = full.prop_map(|path| PathRewrite::Full(path.to_owned()));
    let prefix = select(&["", "/", "/x", "/x/", "/x/y", "/a/b", "/x?y", "/x y"]);
    let prefix = prefix.prop_map(|path| PathRewrite::Prefix(path.to_owned()));
    if replaces_prefix { prop_oneof![1 => full, 3 => prefix].boxed() } else { full.boxed() }
}
