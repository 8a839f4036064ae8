//! Running schedules, on all cores.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::replica::Lack;
use crate::script::Script;
use crate::shrink::{kind_of, shrink};
use crate::world::World;

/// Draws the script of a seed.
type Draw = fn(u64) -> Script;

/// Runs one script; gives why it failed.
pub(crate) fn run(script: &Script, lack: Lack) -> Result<(), String> {
    let run = catch_unwind(AssertUnwindSafe(|| World::new(script, lack, false).run()));
    run.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.unwrap_or_else(|| "it panics".to_owned()))
    })
}

/// Runs the schedules of these seeds, or the one that is asked for; the first that fails is shrunk and told.
pub(crate) fn run_all(seeds: Range<u64>, draw: Draw) {
    let seeds = match std::env::var("MCWAN_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => seeds,
    };
    if std::env::var_os("MCWAN_TELL").is_some() {
        return tell(&draw(seeds.start));
    }
    if std::env::var_os("MCWAN_TALLY").is_some() {
        return tally(seeds, draw);
    }
    if let Some((seed, why)) = first_such_failure(seeds, draw, Lack::Nothing, |_| true) {
        let script = shrink(draw(seed), &why, |script| run(script, Lack::Nothing));
        tell(&script);
        panic!("schedule {seed}: {why}");
    }
}

/// Counts failures by their kind, each with the first seeds that have it.
fn tally(seeds: Range<u64>, draw: Draw) {
    let kinds: Mutex<BTreeMap<String, BTreeSet<u64>>> = Mutex::default();
    on_all_cores(seeds, |seed| {
        if let Err(why) = run(&draw(seed), Lack::Nothing) {
            println!("{seed} {why}");
            kinds.lock().unwrap().entry(kind_of(&why).to_owned()).or_default().insert(seed);
        }
        true
    });
    println!("{} writes", crate::world::WRITES.load(Ordering::Relaxed));
    println!(
        "{} steps, {} reconciled",
        crate::world::STEPS.load(Ordering::Relaxed),
        crate::world::RECONCILED.load(Ordering::Relaxed)
    );
    for (kind, seeds) in kinds.into_inner().unwrap() {
        println!("{:>5} {kind}: {:?}", seeds.len(), seeds.iter().take(8).collect::<Vec<_>>());
    }
}

/// Of the failures that are such, and are none where nothing lacks, the one with the least seed that was met.
pub(crate) fn first_such_failure(
    seeds: Range<u64>,
    draw: Draw,
    lack: Lack,
    is_such: impl Fn(&str) -> bool + Sync,
) -> Option<(u64, String)> {
    let failure: Mutex<Option<(u64, String)>> = Mutex::new(None);
    on_all_cores(seeds, |seed| {
        let Some(why) = run(&draw(seed), lack).err().filter(|why| is_such(why)) else { return true };
        if lack != Lack::Nothing && run(&draw(seed), Lack::Nothing).is_err() {
            return true;
        }
        let mut failure = failure.lock().unwrap();
        if failure.as_ref().is_none_or(|(known, _)| seed < *known) {
            *failure = Some((seed, why));
        }
        false
    });
    failure.into_inner().unwrap()
}

/// Runs these seeds for as long as they are to go on.
fn on_all_cores(seeds: Range<u64>, run: impl Fn(u64) -> bool + Sync) {
    let (next, is_over) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    if !run(seed) {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

/// Prints a script and what happens in it.
pub(crate) fn tell(script: &Script) {
    let mut world = World::new(script, Lack::Nothing, true);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    let lines = world.trace.unwrap_or_default();
    for line in &lines {
        println!("{line}");
    }
    println!("{:?} {}", script.pace, script.seed);
    for (gap, step) in &script.steps {
        println!("{gap:?} {step:?}");
    }
    for (key, versions) in world.told.steered.versions.iter().chain(&world.told.native.versions) {
        for (place, version) in versions.iter().enumerate() {
            println!("{key} {place}: {version:?}");
        }
    }
    println!("{result:?}");
}
