//! Gateway API's durations (GEP-2257), for serde and schemas.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time in whole milliseconds, written as one to four numbers with units: `1h30m`, `10s`, `500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("maxLength" = 28, "pattern" = "^([0-9]{1,5}(h|m|s|ms)){1,4}$"))]
pub struct Duration(gateway_api::Duration);

/// A text that is no [`Duration`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration such as `10s`, `1m30s` or `500ms`")]
pub struct DurationError(String);

impl Duration {
    /// Its length in milliseconds; it has no smaller unit.
    pub fn as_millis(self) -> u128 {
        self.0.as_millis()
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_: String| DurationError(text.to_owned()))
    }
}

impl TryFrom<String> for Duration {
    type Error = DurationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Duration> for String {
    fn from(duration: Duration) -> Self {
        duration.to_string()
    }
}

/// In the largest units: `90s` prints as `1m30s`.
impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_and_printed_as_gep_2257_says() {
        let table = [
            ("0s", Some((0, "0s")), "zero"),
            ("0h0m", Some((0, "0s")), "zero in parts"),
            ("2s", Some((2_000, "2s")), "seconds"),
            ("500ms", Some((500, "500ms")), "milliseconds are no minutes"),
            ("5m", Some((300_000, "5m")), "minutes"),
            ("1h30m", Some((5_400_000, "1h30m")), "two parts"),
            ("1h2m3s4ms", Some((3_723_004, "1h2m3s4ms")), "all four parts"),
            ("90s", Some((90_000, "1m30s")), "printed in the largest units"),
            ("1s1s", Some((2_000, "2s")), "a unit may be repeated"),
            ("99999h", Some((359_996_400_000, "99999h")), "the longest part"),
            ("", None, "nothing"),
            ("1", None, "no unit"),
            ("s", None, "no number"),
            ("100000s", None, "six digits"),
            ("1h1m1s1ms1s", None, "five parts"),
            ("1.5s", None, "a fraction"),
            ("-1s", None, "a sign"),
            ("1 s", None, "a space"),
            ("1d", None, "an unknown unit"),
            ("1S", None, "units are lower case"),
            ("10us", None, "microseconds"),
            ("1é", None, "not ASCII"),
        ];
        for (text, expected, message) in table {
            let parsed = text.parse::<Duration>().ok().map(|duration| (duration.as_millis(), duration.to_string()));
            let expected = expected.map(|(milliseconds, printed): (u128, &str)| (milliseconds, printed.to_owned()));
            assert_eq!(parsed, expected, "{message}: {text}");
        }
    }
}
