//! Query parameters, as Envoy's route matcher reads them: undecoded, the first value of a name.

use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The query of a request, taken apart once somebody asks: it may be long, and so may be the list of rules that ask.
pub(crate) struct Query<'r> {
    /// From the `?` on.
    text: &'r [u8],
    first_values: OnceCell<BTreeMap<&'r [u8], &'r [u8]>>,
}

impl<'r> Query<'r> {
    /// What begins with a `?`, or is empty.
    pub(crate) fn new(text: &'r [u8]) -> Self {
        Self { text, first_values: OnceCell::new() }
    }

    /// The first value of a parameter; a parameter without `=` has the empty one.
    pub(crate) fn first_value(&self, name: &[u8]) -> Option<&'r [u8]> {
        self.first_values.get_or_init(|| first_values(self.text)).get(name).copied()
    }
}

fn first_values(query: &[u8]) -> BTreeMap<&[u8], &[u8]> {
    let mut first = BTreeMap::new();
    let Some(query) = query.strip_prefix(b"?") else { return first };
    for parameter in query.split(|byte| *byte == b'&') {
        let equals = parameter.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals.and_then(|at| parameter.split_at_checked(at)) {
            Some((name, value)) => (name, value.strip_prefix(b"=").unwrap_or(value)),
            None => (parameter, &b""[..]),
        };
        first.entry(name).or_insert(value);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_name_counts() {
        let rows: [(&[u8], Option<&[u8]>); 8] = [
            (b"", None),
            (b"?", None),
            (b"?a", Some(b"")),
            (b"?a=", Some(b"")),
            (b"?a=1&a=2", Some(b"1")),
            (b"?b=a&&a=1=2", Some(b"1=2")),
            (b"?%61=1", None),
            (b"?aa=1&A=2", None),
        ];
        for (query, value) in rows {
            assert_eq!(Query::new(query).first_value(b"a"), value, "{}", query.escape_ascii());
        }
    }
}
