//! The filters of a rule or of a backend, taken apart by who does them.

use mcwan_policy::wire::{self, Header, HeaderModifier, PathRewrite};

use crate::api::{self, Cors, FilterType, HttpFilter, PathModifier, PathModifierType, RequestMirror, RequestRedirect};
use crate::problem::FieldPath;

use super::HeaderChanges;
use super::refusal::Refusal;

/// What a list of filters asks for, each thing at most once.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters<'f> {
    /// Done by the filter.
    pub(super) path: Option<PathRewrite>,
    /// Done by the filter.
    pub(super) redirect: Option<&'f RequestRedirect>,
    /// Done by the route.
    pub(super) hostname: Option<String>,
    /// Done by the route; beside a redirect by the filter.
    pub(super) headers: HeaderChanges,
    /// Done by the route.
    pub(super) mirrors: Vec<&'f RequestMirror>,
    /// Done by the route.
    pub(super) cors: Option<&'f Cors>,
}

impl<'f> Filters<'f> {
    /// Takes a list apart (Gateway API, `HTTPRouteFilter`: only mirrors may be repeated).
    pub(super) fn new(list: &'f [HttpFilter]) -> Result<Self, Refusal> {
        let mut filters = Self::default();
        for (index, filter) in list.iter().enumerate() {
            let at = FieldPath::root().index(index);
            let repeated = list.iter().take(index).any(|earlier| earlier.r#type == filter.r#type);
            if repeated && filter.r#type != FilterType::RequestMirror {
                return Err(Refusal::invalid("a second filter of this type").at(at));
            }
            if let Some(field) = with_query(filter) {
                // Envoy would put it before the request's own query in a rewrite, and in its place in a redirect; Gateway
                // API knows neither: what it replaces is the path, and a query stays.
                let message = "a path has no query: that of the request stays as it is";
                return Err(Refusal::invalid(message).at(at.field(field)));
            }
            filters.add(filter).map_err(|refusal| refusal.at(at))?;
        }
        Ok(filters)
    }

    /// What of this cannot be done to a request that is redirected.
    pub(super) fn beside_a_redirect(&self) -> Result<(), Refusal> {
        if self.path.is_some() || self.hostname.is_some() {
            return Err(Refusal::invalid("a URLRewrite beside a RequestRedirect"));
        }
        if self.headers.request != HeaderModifier::default() {
            let message = "a RequestHeaderModifier beside a RequestRedirect: the request is not sent on";
            return Err(Refusal::invalid(message));
        }
        if !self.mirrors.is_empty() || self.cors.is_some() {
            let message = "a redirect is answered by the filter, which neither mirrors nor does CORS";
            return Err(Refusal::unsupported(message));
        }
        Ok(())
    }

    fn add(&mut self, filter: &'f HttpFilter) -> Result<(), Refusal> {
        let HttpFilter {
            r#type,
            request_header_modifier,
            response_header_modifier,
            request_mirror,
            request_redirect,
            url_rewrite,
            cors,
            extension_ref,
        } = filter;
        let given = [
            request_header_modifier.is_some(),
            response_header_modifier.is_some(),
            request_mirror.is_some(),
            request_redirect.is_some(),
            url_rewrite.is_some(),
            cors.is_some(),
            extension_ref.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() > 1 {
            return Err(Refusal::invalid(format!("{:?} with the field of another type", filter.r#type)));
        }
        let missing = || Refusal::invalid(format!("{:?} without its field", filter.r#type));
        match r#type {
            FilterType::RequestHeaderModifier => {
                self.headers.request = modifier(request_header_modifier.as_ref().ok_or_else(missing)?)?;
            }
            FilterType::ResponseHeaderModifier => {
                self.headers.response = modifier(response_header_modifier.as_ref().ok_or_else(missing)?)?;
            }
            FilterType::RequestMirror => self.mirrors.push(request_mirror.as_ref().ok_or_else(missing)?),
            FilterType::RequestRedirect => self.redirect = Some(request_redirect.as_ref().ok_or_else(missing)?),
            FilterType::UrlRewrite => {
                let rewrite = url_rewrite.as_ref().ok_or_else(missing)?;
                self.hostname.clone_from(&rewrite.hostname);
                self.path = rewrite.path.as_ref().map(path_rewrite).transpose()?;
            }
            FilterType::Cors => {
                let cors = cors.as_ref().ok_or_else(missing)?;
                check_cors(cors)?;
                self.cors = Some(cors);
            }
            FilterType::ExtensionRef => {
                return Err(Refusal::unsupported("mcwan has no extension filters"));
            }
        }
        Ok(())
    }
}

/// The field of a filter that would replace the query with the path.
fn with_query(filter: &HttpFilter) -> Option<&'static str> {
    let HttpFilter { url_rewrite, request_redirect, .. } = filter;
    let has_query = |path: Option<&PathModifier>| {
        path.and_then(|path| path.replace_full_path.as_ref()).is_some_and(|path| path.contains('?'))
    };
    if has_query(url_rewrite.as_ref().and_then(|rewrite| rewrite.path.as_ref())) {
        Some("urlRewrite.path.replaceFullPath")
    } else if has_query(request_redirect.as_ref().and_then(|redirect| redirect.path.as_ref())) {
        Some("requestRedirect.path.replaceFullPath")
    } else {
        None
    }
}

/// A redirect in the wire format; what it may say is checked where it is compiled.
pub(super) fn redirect(
    redirect: &RequestRedirect,
    weight: u32,
    headers: &HeaderModifier,
) -> Result<wire::Redirect, Refusal> {
    let RequestRedirect { scheme, hostname, path, port, status_code } = redirect;
    Ok(wire::Redirect {
        weight,
        status: status_code.as_u16(),
        scheme: scheme.map(|scheme| match scheme {
            api::Scheme::Http => wire::Scheme::Http,
            api::Scheme::Https => wire::Scheme::Https,
        }),
        hostname: hostname.clone(),
        port: port.map(Into::into),
        path: path.as_ref().map(path_rewrite).transpose()?,
        headers: headers.clone(),
    })
}

/// Envoy answers a preflight with the lists as they are.
fn check_cors(cors: &Cors) -> Result<(), Refusal> {
    let lists = [&cors.allow_methods, &cors.allow_headers, &cors.expose_headers];
    let wildcard = lists.into_iter().flatten().any(|item| item == "*");
    if wildcard && cors.allow_credentials == Some(true) {
        let message = "browsers take `*` literally for requests with credentials: list what is allowed";
        return Err(Refusal::unsupported(message));
    }
    Ok(())
}

fn path_rewrite(modifier: &PathModifier) -> Result<PathRewrite, Refusal> {
    let PathModifier { r#type, replace_full_path, replace_prefix_match } = modifier;
    if replace_full_path.is_some() && replace_prefix_match.is_some() {
        return Err(Refusal::invalid(format!("{:?} with the field of another type", modifier.r#type)));
    }
    let rewrite = match r#type {
        PathModifierType::ReplaceFullPath => replace_full_path.clone().map(PathRewrite::Full),
        PathModifierType::ReplacePrefixMatch => replace_prefix_match.clone().map(PathRewrite::Prefix),
    };
    rewrite.ok_or_else(|| Refusal::invalid(format!("{:?} without its field", modifier.r#type)))
}

fn modifier(modifier: &api::HeaderModifier) -> Result<HeaderModifier, Refusal> {
    let api::HeaderModifier { set, add, remove } = modifier;
    let line = |header: &api::Header| Header { name: header.name.clone(), value: header.value.clone() };
    let modifier = HeaderModifier {
        set: set.iter().map(line).collect(),
        add: add.iter().map(line).collect(),
        remove: remove.clone(),
    };
    modifier.check().map_err(|error| Refusal::invalid(error.to_string()))?;
    Ok(modifier)
}

/// What one modifier and then another one do, as one. Names are compared in any case.
pub(crate) fn in_turn(first: &HeaderModifier, second: &HeaderModifier) -> HeaderModifier {
    let replaced = second.remove.iter().chain(second.set.iter().map(|line| &line.name));
    let replaced: Vec<_> = replaced.map(|name| name.to_ascii_lowercase()).collect();
    let lines = |first: &[Header], second: &[Header]| {
        let kept = first.iter().filter(|line| !replaced.contains(&line.name.to_ascii_lowercase()));
        kept.chain(second).cloned().collect()
    };
    HeaderModifier {
        set: lines(&first.set, &second.set),
        add: lines(&first.add, &second.add),
        remove: [&*first.remove, &*second.remove].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modifiers_in_turn_do_what_one_does() {
        let lines = |pairs: &[(&str, &str)]| -> Vec<Header> {
            pairs.iter().map(|(name, value)| Header { name: (*name).to_owned(), value: (*value).to_owned() }).collect()
        };
        let modifier = |set: &[(&str, &str)], add: &[(&str, &str)], remove: &[&str]| HeaderModifier {
            set: lines(set),
            add: lines(add),
            remove: remove.iter().map(|name| (*name).to_owned()).collect(),
        };
        let table = [
            (modifier(&[("a", "1")], &[], &[]), modifier(&[("A", "2")], &[], &[]), "set, then set"),
            (modifier(&[], &[("a", "1")], &[]), modifier(&[("A", "2")], &[], &[]), "added, then set"),
            (modifier(&[("a", "1")], &[], &[]), modifier(&[], &[], &["A"]), "set, then removed"),
            (modifier(&[], &[("a", "1")], &[]), modifier(&[], &[], &["A"]), "added, then removed"),
            (modifier(&[], &[], &["a"]), modifier(&[("A", "2")], &[], &[]), "removed, then set"),
            (modifier(&[], &[], &["a"]), modifier(&[], &[("A", "2")], &[]), "removed, then added"),
            (modifier(&[("a", "1")], &[], &[]), modifier(&[], &[("A", "2")], &[]), "set, then added"),
            (modifier(&[("b", "1")], &[("a", "1")], &["c"]), modifier(&[("d", "2")], &[("a", "2")], &["e"]), "apart"),
        ];
        for (first, second, message) in table {
            let before: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| (name.into(), b"0".to_vec())).into();
            let mut in_two = before.clone();
            first.apply(&mut in_two);
            second.apply(&mut in_two);
            let mut at_once = before;
            in_turn(&first, &second).apply(&mut at_once);
            in_two.sort_by(|left, right| left.0.cmp(&right.0));
            at_once.sort_by(|left, right| left.0.cmp(&right.0));
            assert_eq!(at_once, in_two, "{message}");
        }
    }
}
