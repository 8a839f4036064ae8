//! Ages as kubectl prints them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago something was: `90s`, `5m`, `47h`, `12d`.
pub(super) fn age(since: &Time, now: &Time) -> String {
    let seconds = (now.0.as_second() - since.0.as_second()).max(0);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..10_800 => format!("{}m", seconds / MINUTE),
        10_800..172_800 => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn the_unit_grows_with_the_age() {
        let at = |second| Time(Timestamp::from_second(second).unwrap());
        for (seconds, expected) in
            [(-5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (3 * HOUR, "3h"), (2 * DAY, "2d"), (400 * DAY, "400d")]
        {
            assert_eq!(age(&at(1_000_000), &at(1_000_000 + seconds)), expected, "{seconds}");
        }
    }
}
