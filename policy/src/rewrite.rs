//! Path rewrites (Gateway API, `HTTPPathModifier`).

use crate::path::{self, RequestPath};
use crate::{limits, wire};

/// Why a path cannot be rewritten as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The new path is none.
    #[error("{0:?} cannot stand in a path: want `/`, and then ASCII without spaces, `?` and `#`")]
    Replacement(String),
    /// A prefix is replaced, but the rule does not match by prefix alone.
    #[error("a prefix can be replaced only where every match of the rule is by path prefix")]
    NoPrefix,
}

/// A checked rewrite.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PathRewrite {
    Full(Box<str>),
    /// Without a trailing `/`.
    Prefix(Box<str>),
}

impl PathRewrite {
    /// `by_prefix`: whether every match of the rule is by path prefix.
    pub(crate) fn new(rewrite: wire::PathRewrite, by_prefix: bool) -> Result<Self, RewriteError> {
        let (wire::PathRewrite::Full(replacement) | wire::PathRewrite::Prefix(replacement)) = &rewrite;
        let empty_prefix = replacement.is_empty() && matches!(rewrite, wire::PathRewrite::Prefix(_));
        let sound = replacement.len() <= limits::PATH_BYTES
            && replacement.starts_with('/')
            && replacement.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#');
        if !sound && !empty_prefix {
            return Err(RewriteError::Replacement(replacement.clone()));
        }
        match rewrite {
            wire::PathRewrite::Full(replacement) => Ok(Self::Full(replacement.into())),
            wire::PathRewrite::Prefix(_) if !by_prefix => Err(RewriteError::NoPrefix),
            wire::PathRewrite::Prefix(replacement) => Ok(Self::Prefix(path::trim_prefix(&replacement).into())),
        }
    }

    /// The new path and the old query, for a request of which the match took `prefix` bytes.
    pub(crate) fn apply(&self, request: RequestPath<'_>, prefix: usize) -> Vec<u8> {
        let (new, rest) = match self {
            Self::Full(path) => (path, &b""[..]),
            Self::Prefix(replacement) => (replacement, request.path.get(prefix..).unwrap_or_default()),
        };
        let mut path = Vec::with_capacity(new.len() + rest.len() + request.query.len() + 1);
        path.extend_from_slice(new.as_bytes());
        path.extend_from_slice(rest);
        if path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(request.query);
        path
    }
}
