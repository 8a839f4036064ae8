//! Header modifiers (Gateway API, `HTTPHeaderFilter`): what they may say, and what they do.

use crate::header::is_name;
use crate::limits;
use crate::request::HeaderLine;
use crate::wire::{Header, HeaderModifier};

/// What every header of mcwan's own begins with.
const OWN_PREFIX: &str = "x-mcwan-";

/// Why a header modifier cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModifierError {
    /// A name that no header has.
    #[error("{0:?} is not the name of a header")]
    Name(String),
    /// A header that Envoy does not let a route change.
    #[error("the header {0:?} cannot be modified: a URLRewrite's hostname changes the authority")]
    Authority(String),
    /// One of mcwan's own.
    #[error("the header {0:?} is mcwan's own")]
    Own(String),
    /// Too many headers.
    #[error("over {} headers to set, add or remove", limits::MODIFIER_HEADERS)]
    TooMany,
    /// A value that cannot be sent (RFC 9110, section 5.5), or over its bound.
    #[error("the value of header {0:?} cannot be sent")]
    Value(String),
}

impl HeaderModifier {
    /// Checks names and values.
    pub fn check(&self) -> Result<(), ModifierError> {
        let Self { set, add, remove } = self;
        if [set.len(), add.len(), remove.len()].into_iter().any(|count| count > limits::MODIFIER_HEADERS) {
            return Err(ModifierError::TooMany);
        }
        for header in set.iter().chain(add) {
            check_name(&header.name)?;
            let sound = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
            if header.value.len() > limits::VALUE_BYTES || !header.value.bytes().all(sound) {
                return Err(ModifierError::Value(header.name.clone()));
            }
        }
        remove.iter().try_for_each(|name| check_name(name))
    }

    /// Changes header lines as Envoy does: first it removes, then it replaces, then it adds.
    pub fn apply(&self, lines: &mut Vec<HeaderLine>) {
        let Self { set, add, remove } = self;
        let replaced = set.iter().map(|header| &header.name);
        for name in remove.iter().chain(replaced) {
            lines.retain(|(key, _)| !key.eq_ignore_ascii_case(name.as_bytes()));
        }
        lines.extend(set.iter().chain(add).map(line));
    }
}

fn line(header: &Header) -> HeaderLine {
    (header.name.to_ascii_lowercase().into_bytes(), header.value.clone().into_bytes())
}

fn check_name(name: &str) -> Result<(), ModifierError> {
    if !is_name(name) {
        return Err(ModifierError::Name(name.to_owned()));
    }
    if name.eq_ignore_ascii_case("host") {
        return Err(ModifierError::Authority(name.to_owned()));
    }
    if name.to_ascii_lowercase().starts_with(OWN_PREFIX) {
        return Err(ModifierError::Own(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn removes_then_sets_then_adds() {
        let modifier = HeaderModifier {
            set: vec![header("X-Set", "new")],
            add: vec![header("x-add", "2")],
            remove: vec!["X-Gone".to_owned()],
        };
        let lines = |pairs: &[(&str, &str)]| -> Vec<HeaderLine> {
            pairs.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
        };
        let mut headers = lines(&[("x-set", "a"), ("x-set", "b"), ("x-add", "1"), ("x-gone", "c"), ("x-stays", "d")]);
        modifier.apply(&mut headers);
        assert_eq!(headers, lines(&[("x-add", "1"), ("x-stays", "d"), ("x-set", "new"), ("x-add", "2")]));
    }

    #[test]
    fn what_no_route_can_change_is_refused() {
        for name in ["", "a b", ":path", "Host", "X-Mcwan-Target"] {
            let modifier = HeaderModifier { remove: vec![name.to_owned()], ..HeaderModifier::default() };
            assert!(modifier.check().is_err(), "{name:?}");
        }
        let modifier = HeaderModifier { set: vec![header("a", "b\r\nc: d")], ..HeaderModifier::default() };
        assert!(modifier.check().is_err(), "a line break in a value");
    }
}
