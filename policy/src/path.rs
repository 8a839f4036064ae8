//! Paths: what a match may ask for, and how a request's path is taken apart.

use crate::limits;

/// Why a text cannot be the value of an exact or prefix path match
/// (Gateway API, validation of `HTTPPathMatch`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It does not start with `/`.
    #[error("path {0:?} does not start with `/`")]
    Relative(String),
    /// A raw prefix ends within an element.
    #[error("raw prefix {0:?} does not end in `/`")]
    Open(String),
    /// It holds what no normalised path holds.
    #[error("path {0:?} contains {1:?}, which no request's path has once it is normalised")]
    NotNormal(String, &'static str),
    /// It holds a character that must be percent-encoded.
    #[error("path {0:?} contains a character that must be percent-encoded")]
    Character(String),
}

/// Checks the value of an exact or prefix path match.
///
/// # Errors
/// No request's path can be it, once it is normalised.
pub fn check(path: &str) -> Result<(), PathError> {
    if !path.starts_with('/') {
        return Err(PathError::Relative(path.to_owned()));
    }
    let never = ["//", "/./", "/../", "%2f", "%2F"].into_iter().find(|part| path.contains(part));
    let never_last = ["/.", "/.."].into_iter().find(|part| path.ends_with(part));
    if let Some(part) = never.or(never_last) {
        return Err(PathError::NotNormal(path.to_owned(), part));
    }
    if !has_only_path_characters(path) {
        return Err(PathError::Character(path.to_owned()));
    }
    Ok(())
}

/// Whether a text is made of RFC 3986's `pchar` and `/`, percent-encodings being whole.
pub(crate) fn has_only_path_characters(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let sound = match byte {
            b'%' => {
                let mut hex = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                hex() && hex()
            }
            _ => byte.is_ascii_alphanumeric() || b"-/._~!$&'()*+,;=:@".contains(&byte),
        };
        if !sound {
            return false;
        }
    }
    true
}

/// A prefix without its trailing `/`, which means nothing (Gateway API, `PathMatchPathPrefix`).
pub fn trim_prefix(prefix: &str) -> &str {
    prefix.strip_suffix('/').unwrap_or(prefix)
}

/// A request's `:path`, taken apart where Envoy does it.
#[derive(Clone, Copy)]
pub(crate) struct RequestPath<'r> {
    /// What matches look at.
    pub(crate) path: &'r [u8],
    /// From the `?` on, it included; empty without one.
    pub(crate) query: &'r [u8],
}

impl<'r> RequestPath<'r> {
    /// None unless it starts with `/` (RFC 9112, section 3.2.1, origin-form).
    pub(crate) fn parse(target: &'r [u8]) -> Option<Self> {
        if target.first() != Some(&b'/') {
            return None;
        }
        let end = target.iter().position(|byte| *byte == b'#').unwrap_or(target.len());
        let target = target.get(..end)?;
        let question_mark = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
        let (path, query) = target.split_at_checked(question_mark)?;
        Some(Self { path, query })
    }

    /// The lengths at which an element ends, and with it a prefix that matches by elements; ascending,
    /// and none beyond what a prefix in a configuration can have.
    pub(crate) fn boundaries(self) -> impl Iterator<Item = usize> {
        let path = self.path.get(..=limits::PATH_BYTES).unwrap_or(self.path);
        let whole = (path.len() == self.path.len()).then_some(path.len());
        path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_an_element_ends() {
        let rows: [(&[u8], &[usize]); 5] = [
            (b"/", &[0, 1]),
            (b"/foo", &[0, 4]),
            (b"/foo/", &[0, 4, 5]),
            (b"/foo/bar?a=/b", &[0, 4, 8]),
            (b"/foo#/bar", &[0, 4]),
        ];
        for (target, boundaries) in rows {
            let path = RequestPath::parse(target).unwrap();
            assert_eq!(path.boundaries().collect::<Vec<_>>(), boundaries, "{}", target.escape_ascii());
        }
    }
}
