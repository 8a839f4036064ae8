//! Regular expressions: the part that RE2 (Envoy's) and regex-lite (ours) have in common.

mod dialect;

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};

use crate::limits;

/// The least size that a compiled pattern is counted by, in bytes: as many as a configuration may have take all that they may
/// take together.
const LEAST: usize = limits::PATTERNS_COMPILED_BYTES / limits::PATTERNS;

/// A regular expression that must match a whole value (Envoy's `RegexMatcher`). As in Envoy, each byte is
/// a character (Latin-1), so that a value need not be UTF-8, and `.` takes one byte of those of an `é`.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Regex);

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It means different things to RE2 and to us, or nothing to one of them.
    #[error("regular expression {pattern:?}: {what} at byte {at}")]
    Dialect {
        /// The expression.
        pattern: String,
        /// Where in it.
        at: usize,
        /// What stands there.
        what: &'static str,
    },
    /// It does not compile, or takes more than [`limits::PATTERN_COMPILED_BYTES`].
    #[error("regular expression {0:?}: {1}")]
    Compile(String, String),
}

impl Pattern {
    /// Compiles a pattern of at most [`limits::PATTERN_BYTES`], which the caller checks. Gives the bytes that it is
    /// counted by, too: what it takes is known only by what it does not exceed, which is tried in powers of two.
    pub(crate) fn new(pattern: &str) -> Result<(Self, usize), PatternError> {
        let refused = |(at, what)| PatternError::Dialect { pattern: pattern.to_owned(), at, what };
        let plain = dialect::without_captures(pattern).map_err(refused)?;
        // With its captures: RE2 keeps them, and must not be given more than it takes.
        compile(pattern, limits::PATTERN_COMPILED_BYTES)
            .map_err(|error| PatternError::Compile(pattern.to_owned(), error.to_string()))?;
        let mut size = LEAST;
        loop {
            match compile(&plain, size) {
                Ok(regex) => return Ok((Self(regex), size)),
                Err(_) if size < limits::PATTERN_COMPILED_BYTES => size *= 2,
                Err(error) => return Err(PatternError::Compile(pattern.to_owned(), error.to_string())),
            }
        }
    }

    /// Whether the pattern matches the whole value.
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        self.matches_text(&latin1(value))
    }

    /// The same of what is [`latin1`] already.
    pub(crate) fn matches_text(&self, value: &str) -> bool {
        self.0.is_match(value)
    }
}

/// Compiles what must match a whole value, if it takes at most so many bytes.
fn compile(pattern: &str, most: usize) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(&format!("^(?:{})$", latin1(pattern.as_bytes()))).size_limit(most).build()
}

/// Bytes as characters of the same numbers.
pub(crate) fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_value() {
        let rows = [
            ("a|b", "a", true),
            ("a|b", "ab", false),
            ("^(.*?;)?(user=test)(;.*)?", "x=1;user=test;y=2", true),
            ("^(.*?;)?(user=test)(;.*)?", "x=1;user=tester", false),
            ("[]a]+", "]a", true),
            (r"\d{1,3}(?:\.\d+)*", "10.1.2", true),
            ("(?i)[a-c]k", "BK", true),
            ("(?s).", "\n", true),
            (".", "\n", false),
        ];
        for (pattern, value, matches) in rows {
            assert_eq!(Pattern::new(pattern).unwrap().0.matches(value.as_bytes()), matches, "{pattern:?} on {value:?}");
        }
    }

    #[test]
    fn groups_capture_nothing() {
        for (pattern, plain) in [
            ("a(b)(?P<c>d)(?<e>(f))", "a(?:b)(?:d)(?:(?:f))"),
            (r"\((?:a)[(](?i)(?i:b)", r"\((?:a)[(](?i)(?i:b)"),
            ("é(é)", "é(?:é)"),
        ] {
            assert_eq!(dialect::without_captures(pattern).as_deref(), Ok(plain));
        }
        let many = format!("/(?:{}){{5}}", "()".repeat(500));
        assert!(Pattern::new(&many).unwrap().1 < limits::PATTERN_COMPILED_BYTES, "they take nothing");
        let deep = format!("{}a{}{{1000}}", "(".repeat(16), ")".repeat(16));
        assert!(Pattern::new(&deep).is_err(), "RE2 keeps captures in each repetition");
    }

    #[test]
    fn a_character_is_a_byte() {
        let rows: [(&str, &[u8], bool); 7] = [
            ("café", "café".as_bytes(), true),
            ("caf.", "café".as_bytes(), false),
            ("caf..", "café".as_bytes(), true),
            ("caf[éa]", "café".as_bytes(), false),
            (".*", b"\xff", true),
            (r"\xff", b"\xff", true),
            (r"\w", b"\xff", false),
        ];
        for (pattern, value, matches) in rows {
            let message = format!("{pattern:?} on {}", value.escape_ascii());
            assert_eq!(Pattern::new(pattern).unwrap().0.matches(value), matches, "{message}");
        }
        assert!(Pattern::new(r"\x{100}").is_err(), "no byte");
    }

    #[test]
    fn what_re2_reads_differently_is_refused() {
        let refused = [
            "a)|(b",
            "(",
            "[a",
            "a\\",
            "*",
            "a**",
            "a{2}{3}",
            "a{1001}",
            "(a{40}){40}",
            "a{,2}",
            "a{x}",
            "(?i)é",
            r"(?i)\xe9",
            "(?x) a",
            "(?P<a>b)(?<a>c)",
            "(?P<<a>b)",
            "(?=a)",
            r"\pL",
            r"\Qa\E",
            r"\C",
            r"\1",
            r"\<",
            r"\Z",
            "[[a]]",
            "[a&&b]",
            "[a--b]",
            "^*",
            r"\b+",
            "(?#c)",
        ];
        for pattern in refused {
            assert!(Pattern::new(pattern).is_err(), "{pattern:?} is refused");
        }
    }
}
