//! Two clusters on a tier that degrades under load.
//!
//! Where each path bears half of the requests but not all of them, one that falls takes the other with it. They return one
//! after the other, each gets all requests, and falls again: the tier stays unused, though it would do. That is what is chosen,
//! not how it is judged; what is judged is that they move no more than others, and are hardly ever overloaded.

use std::time::Duration;

use crate::laws::{HOUR, Scope, ensure};
use crate::load::Shared;
use crate::path::Path;
use crate::tiers::{FAST, high};

pub(super) fn check(scope: &Scope) -> Result<(), String> {
    // What each bears: all; half, and some; less than half.
    for (capacity, overloaded) in [(1.1, 0.0), (0.6, 0.02), (0.4, 0.02)] {
        let hours = 4;
        let mut worst = 0;
        let mut share = 0.0;
        let mut both_in = 0.0;
        for number in 0..2 {
            let paths = [0, 1].map(|path| scope.path(high(), FAST, 2 * number + path));
            let mut shared = Shared { paths, capacity, overloaded: Duration::ZERO };
            let start = shared.paths[0].now;
            let mut both = 0_u64;
            let mut ticks = 0_u64;
            while shared.paths[0].now < start + HOUR * hours {
                let time = shared.paths[0].now.since(start);
                // One of them is cut for five seconds each two hours.
                let is_cut = time.as_secs() % 7_200 < 5;
                shared.tick([is_cut, false]);
                ticks += 1;
                both += u64::from(shared.paths.iter().all(Path::is_in));
            }
            worst = shared.paths.iter().map(Path::most_moves_an_hour).max().unwrap_or(0).max(worst);
            share += shared.overloaded.as_secs_f64() / (HOUR * hours * 2).as_secs_f64() / 2.0;
            both_in += both as f64 / ticks as f64 / 2.0;
        }
        let told = format!(
            "each bears {capacity}: at most {worst} moves an hour, both in {:.1} % and overloaded {:.2} % of the time",
            both_in * 100.0,
            share * 100.0
        );
        println!("{told}");
        ensure(worst <= 32 && share <= overloaded, || told)?;
    }
    Ok(())
}
