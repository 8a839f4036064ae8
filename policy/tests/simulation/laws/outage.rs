//! "After Down at least as long as that was (at most 120 s): cut TCP connections retransmit only then." And a path that was
//! down for 10 s is in at most 20 s after that.

use std::time::Duration;

use crate::laws::{HOUR, Scope, ensure};
use crate::tiers::{FAST, high};

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    for (seconds, most) in [(10, 20), (40, 60), (100, 130), (600, 150)] {
        let mut longest = Duration::ZERO;
        for number in 0..50 {
            let outage = Duration::from_secs(seconds);
            let mut path = scope.path(high(), FAST, number);
            path.weather = path.at(0.25).losing(0.0).hole();
            path.run(outage);
            ensure(!path.is_in(), || format!("a hole of {seconds} s is not seen"))?;
            let end = path.now;
            path.weather = path.at(0.25).losing(0.0);
            path.run_until(true, HOUR);
            let left_alone = path.moved().since(end);
            longest = longest.max(left_alone);
            ensure(left_alone >= outage.min(Duration::from_mins(2)), || {
                format!("in {left_alone:?} after a hole of {seconds} s")
            })?;
        }
        println!("after a hole of {seconds} s a path is in within {longest:?}");
        ensure(longest <= Duration::from_secs(most), || format!("in only {longest:?} after a hole of {seconds} s"))?;
    }
    Ok(())
}
