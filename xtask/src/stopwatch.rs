//! The stages of a long task, and how long each took.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The stages that have ended so far, the last perhaps with an error. Prints as a table.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    stages: Vec<(String, Duration)>,
}

impl Stopwatch {
    /// Carries a stage out.
    pub(crate) fn run<T>(&mut self, name: &str, stage: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("test: {name}");
        let start = Instant::now();
        let result = stage();
        let taken = start.elapsed();
        self.stages.push((name.to_owned(), taken));
        let passed = result.with_context(|| format!("{name} did not pass"))?;
        eprintln!("test: {name} passed in {:.1} s", taken.as_secs_f64());
        Ok(passed)
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = ("all", self.stages.iter().map(|(_, taken)| *taken).sum::<Duration>());
        let rows = self.stages.iter().map(|(name, taken)| (&**name, *taken)).chain([all]);
        let width = rows.clone().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (name, taken) in rows {
            writeln!(formatter, "{name:width$}  {:7.1} s", taken.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn every_stage_has_a_row_the_one_that_failed_too() {
        let mut stopwatch = Stopwatch::default();
        stopwatch.run("lints", || Ok(())).unwrap();
        let error = stopwatch.run("documentation", || -> Result<()> { bail!("a link leads nowhere") }).unwrap_err();
        assert_eq!(format!("{error:#}"), "documentation did not pass: a link leads nowhere");
        let table = stopwatch.to_string();
        let names: Vec<_> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["lints", "documentation", "all"]);
        let lengths: Vec<_> = table.lines().map(str::len).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{table}");
    }

    #[test]
    fn all_stages_together_take_as_long_as_each_of_them() {
        let stages = [("a", 61_500), ("b", 1_250)];
        let stages = stages.map(|(name, taken)| (name.to_owned(), Duration::from_millis(taken))).into();
        let table = Stopwatch { stages }.to_string();
        assert!(table.ends_with("all     62.8 s\n"), "{table}");
    }
}
