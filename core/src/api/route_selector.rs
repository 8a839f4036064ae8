//! Which `Route`s are ours, by their labels.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use kube_core::{Expression, Selector, SelectorExt};
use mcwan_policy::{is_label, limits};

use super::OpenshiftRoute;

/// Which routes are ours: those whose labels are as all of it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteSelector(Selector);

/// A text is no [`RouteSelector`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` selects no routes: want, with commas between them, `KEY=VALUE`, `KEY!=VALUE`, `KEY in (VALUES)`, \
     `KEY notin (VALUES)`, `KEY` or `!KEY`"
)]
pub struct RouteSelectorError(String);

impl Default for RouteSelector {
    fn default() -> Self {
        Self([("mc-wan.l7mp.io/router", "mcwan")].into_iter().collect())
    }
}

impl RouteSelector {
    /// Whether a route is ours.
    pub fn takes(&self, route: &OpenshiftRoute) -> bool {
        self.0.matches(route.metadata.labels.as_ref().unwrap_or(&BTreeMap::new()))
    }
}

/// As Kubernetes reads selectors of labels.
impl FromStr for RouteSelector {
    type Err = RouteSelectorError;

    fn from_str(text: &str) -> Result<Self, RouteSelectorError> {
        let mut is_list = false;
        let between = |character| {
            is_list = character == '(' || is_list && character != ')';
            character == ',' && !is_list
        };
        let all: Option<Selector> = text.split(between).map(|part| expression(part.trim())).collect();
        all.map(Self).ok_or_else(|| RouteSelectorError(text.to_owned()))
    }
}

/// As API servers take it.
impl fmt::Display for RouteSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

fn expression(text: &str) -> Option<Expression> {
    if let Some((start, list)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let values = list.split(',').map(value).collect::<Option<BTreeSet<_>>>()?;
        let (name, operator) = start.trim_end().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => Some(Expression::In(key(name)?, values)),
            "notin" => Some(Expression::NotIn(key(name)?, values)),
            _ => None,
        };
    }
    if let Some(name) = text.strip_prefix('!') {
        return Some(Expression::DoesNotExist(key(name)?));
    }
    if let Some((name, other)) = text.split_once("!=") {
        return Some(Expression::NotEqual(key(name)?, value(other)?));
    }
    match text.split_once('=') {
        Some((name, same)) => Some(Expression::Equal(key(name)?, value(same.strip_prefix('=').unwrap_or(same))?)),
        None => Some(Expression::Exists(key(text)?)),
    }
}

/// The key of a label: a name, before which a domain and `/` may stand.
fn key(text: &str) -> Option<String> {
    let text = text.trim();
    let (domain, name) = text.rsplit_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| domain.len() <= limits::HOST_BYTES && domain.split('.').all(is_label);
    (!name.is_empty() && value(name).is_some() && domain.is_none_or(is_domain)).then(|| text.to_owned())
}

/// The value of a label, which may be empty.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    let is_end = |end: Option<char>| end.is_none_or(|end| end.is_ascii_alphanumeric());
    let is_sound = text.chars().all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one))
        && is_end(text.chars().next())
        && is_end(text.chars().last());
    (is_sound && text.len() <= limits::LABEL_BYTES).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mk_route(labels: &Value) -> OpenshiftRoute {
        serde_json::from_value(json!({"metadata": {"name": "a", "labels": labels}})).unwrap()
    }

    #[test]
    fn a_selector_takes_routes_whose_labels_are_as_it_says() {
        let ours = mk_route(&json!({"mc-wan.l7mp.io/router": "mcwan", "a": "b"}));
        for (selector, expected) in [
            ("mc-wan.l7mp.io/router=mcwan", true),
            ("a==b, mc-wan.l7mp.io/router = mcwan", true),
            ("a=b,c=d", false),
            ("a=c", false),
            ("a!=b", false),
            ("a!=c,c!=d", true),
            ("a in (x, b),mc-wan.l7mp.io/router", true),
            ("a notin (x,b)", false),
            ("c notin (x)", true),
            ("a", true),
            ("c", false),
            ("!c", true),
        ] {
            let selector: RouteSelector = selector.parse().unwrap();
            assert_eq!(selector.takes(&ours), expected, "{selector}");
            assert_eq!(selector.to_string().parse(), Ok(selector));
        }
        assert!(!RouteSelector::default().takes(&mk_route(&json!(null))), "no labels");
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for odd in
            ["", "=b", "a=b,,c=d", "a of (b)", "a in b", "a in (b", "a b=c", "a!", "a/b/c=d", "/a=b", "a=b c", "-a=b"]
        {
            assert!(odd.parse::<RouteSelector>().is_err(), "{odd}");
        }
    }
}
