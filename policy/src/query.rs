//! Query parameters, as Envoy's route matcher reads them: undecoded, the first value of a name.

/// The first value of a parameter; a parameter without `=` has the empty one.
pub(crate) fn first_value<'r>(query: &'r [u8], name: &[u8]) -> Option<&'r [u8]> {
    let query = query.strip_prefix(b"?")?;
    query.split(|byte| *byte == b'&').find_map(|parameter| {
        let equals = parameter.iter().position(|byte| *byte == b'=');
        let (key, value) = match equals.and_then(|at| parameter.split_at_checked(at)) {
            Some((key, value)) => (key, value.strip_prefix(b"=").unwrap_or(value)),
            None => (parameter, &b""[..]),
        };
        (key == name).then_some(value)
    })
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
            assert_eq!(first_value(query, b"a"), value, "{}", query.escape_ascii());
        }
    }
}
