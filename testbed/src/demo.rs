//! Examples, played for a person to see.

use std::future::pending;

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};
use anyhow::Result;
use mcwan::problem::Problem;

use crate::client::Request;
use crate::describe;
use crate::example::{Case, Example};
use crate::latin1;
use crate::mode::Mode;
use crate::plan::Plan;
use crate::play::{Performance, Play};
use crate::table::Columns;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const HEAD: Style = Style::new().bold();
const HEADINGS: [&str; 4] = ["request", "expected", "happened", "decided by"];

/// Plays examples and prints a table for each. Returns whether everything was as expected; with
/// `keep` it leaves everything running instead and does not return.
///
/// # Errors
/// An example cannot be read or started, or a request has no answer.
pub async fn run(names: &[String], mode: Mode, keep: bool) -> Result<bool> {
    let mut all_well = true;
    let mut plays = Vec::new();
    for name in names {
        let example = Example::load(name)?;
        let play = start(&example, mode).await?;
        let mut performances = Vec::new();
        for case in &example.cases {
            performances.push(play.perform(case).await?);
        }
        all_well &= performances.iter().all(|performance| performance.faults.is_empty());
        print(&example, &performances);
        plays.push((example, play));
    }
    if keep {
        for (example, play) in &plays {
            example.cases.iter().take(1).for_each(|case| invite(&example.name, case, play));
        }
        pending::<()>().await;
    }
    Ok(all_well)
}

async fn start(example: &Example, mode: Mode) -> Result<Play> {
    eprintln!("{} ({mode}): starting Envoy", example.name);
    let plan = Plan::of_example(example, mode)?;
    for Problem { severity, object, field, message, .. } in &plan.problems {
        eprintln!("{severity}: {object}: {}: {message}", field.as_deref().unwrap_or("spec"));
    }
    plan.start().await
}

fn print(example: &Example, performances: &[Performance]) {
    let headings = HEADINGS.map(str::to_owned);
    let rows: Vec<_> =
        example.cases.iter().zip(performances).map(|(case, performance)| row(case, performance)).collect();
    let columns = Columns::of(rows.iter().chain([&headings]));
    for line in columns.lay_out(&headings) {
        println!("  {HEAD}{line}{HEAD:#}");
    }
    for ((row, case), performance) in rows.iter().zip(&example.cases).zip(performances) {
        let (style, sign) = if performance.faults.is_empty() { (GOOD, '✓') } else { (BAD, '✗') };
        for (number, line) in columns.lay_out(row).into_iter().enumerate() {
            let sign = if number == 0 { sign } else { ' ' };
            println!("{style}{sign}{style:#} {line}");
        }
        for fault in &performance.faults {
            println!("    {BAD}{}: {fault}{BAD:#}", case.name);
        }
    }
    let passed = performances.iter().filter(|performance| performance.faults.is_empty()).count();
    println!("{}: {passed} of {} as expected", example.name, performances.len());
}

fn row(case: &Case, performance: &Performance) -> [String; 4] {
    let Request { method, host, path, headers } = &case.request;
    let host = latin1::text(host.as_deref().unwrap_or_default());
    let mut request = format!("{method} {host}{path}");
    if case.repeat.get() > 1 {
        request = format!("{} × {request}", case.repeat);
    }
    request.extend(headers.iter().map(|(name, value)| format!("\n  {name}: {}", latin1::text(value))));
    let expected = describe::expected(&case.expected);
    let happened = describe::outcomes(&case.expected, &performance.outcomes);
    [request, expected, happened, performance.decided_by.clone()]
}

/// Says what to try.
fn invite(name: &str, case: &Case, play: &Play) {
    let Request { method, host, path, headers } = &case.request;
    let host = latin1::text(host.as_deref().unwrap_or_default());
    let mut curl = format!("curl -i -X {method} -H 'Host: {host}'");
    curl.extend(headers.iter().map(|(name, value)| format!(" -H '{name}: {}'", latin1::text(value))));
    println!("\n{name} runs until Ctrl-C. Try");
    println!("  {curl} 'http://{}{path}'", play.service());
    println!("  curl 'http://{}/stats?filter=mcwan'", play.envoy().admin());
    println!("  tail -f {}", play.envoy().access_log().display());
}
