//! Amounts as Kubernetes writes them.

/// The suffixes, and by how many thousandths of one they multiply.
const SUFFIXES: [(&str, u64); 9] = [
    ("Ki", 1_000 << 10),
    ("Mi", 1_000 << 20),
    ("Gi", 1_000 << 30),
    ("Ti", 1_000 << 40),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("m", 1),
    ("", 1_000),
];

/// A whole amount, rounded up. None: it is written in a way that is not known here.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (suffix, thousandths) = SUFFIXES.into_iter().find(|(suffix, _)| text.ends_with(suffix))?;
    let number: u64 = text.strip_suffix(suffix)?.parse().ok()?;
    Some(number.checked_mul(thousandths)?.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn amounts_are_rounded_up() {
        let table = [
            ("2", Some(2), "cores"),
            ("2000m", Some(2), "thousandths"),
            ("100m", Some(1), "less than one"),
            ("1024Mi", Some(1 << 30), "powers of two"),
            ("1k", Some(1_000), "powers of ten"),
            ("0.5", None, "a fraction"),
            ("", None, "nothing"),
            ("99999999999999Ti", None, "too much"),
        ];
        for (text, amount, message) in table {
            assert_eq!(parse(text), amount, "{message}");
        }
    }
}
