//! Examples, played for a person to see.

pub mod wan;

use std::future::pending;
use std::iter::repeat;
use std::net::SocketAddr;

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};
use anyhow::Result;
use mcwan_core::problem::Problem;

use crate::client::Request;
use crate::describe;
use crate::example::{Case, End, Example};
use crate::latin1;
use crate::mode::Mode;
use crate::setup::Setup;
use crate::table::Columns;
use crate::testbed::{Performance, Testbed};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const HEAD: Style = Style::new().bold();
/// The sign before a row, and the space behind it.
const MARGIN: usize = 2;
const HEADINGS: [&str; 4] = ["request", "expected", "happened", "decided by"];

/// Plays examples and prints a table for each. Returns whether everything was as expected; with
/// `keep` it leaves everything running instead and does not return.
///
/// # Errors
/// An example cannot be read or started, or a request has no answer.
pub async fn run(names: &[String], mode: Mode, keep: bool) -> Result<bool> {
    let mut all_good = true;
    let mut running = Vec::new();
    for name in names {
        let example = Example::load(name)?;
        let testbed = start(&example, mode).await?;
        all_good &= play(&example, &testbed).await?;
        if keep {
            running.push((example, testbed));
        }
    }
    if keep {
        for (example, testbed) in &running {
            invite(example, testbed);
        }
        pending::<()>().await;
    }
    Ok(all_good)
}

async fn start(example: &Example, mode: Mode) -> Result<Testbed> {
    eprintln!("{} ({mode}): starting Envoy", example.name);
    let setup = Setup::of_example(example, mode)?;
    for Problem { severity, object, field, message, .. } in &setup.problems {
        let field = if field.is_root() { "spec".into() } else { field.clone() };
        eprintln!("{severity}: {object}: {field}: {message}");
    }
    setup.start().await
}

/// Plays an example, prints the table and returns whether everything was as expected.
async fn play(example: &Example, testbed: &Testbed) -> Result<bool> {
    let mut performances = Vec::new();
    for case in &example.cases {
        performances.push(testbed.perform(case).await?);
    }
    let rows: Vec<_> = performances.iter().map(row).collect();
    Ok(table(example, HEADINGS, &rows, &performances.iter().collect::<Vec<_>>(), usize::MAX))
}

/// Prints the table of an example, a row a performance and no line wider than this, and returns whether everything was as
/// expected.
fn table<const N: usize>(
    example: &Example,
    headings: [&str; N],
    rows: &[[String; N]],
    performances: &[&Performance<'_>],
    width: usize,
) -> bool {
    let headings = headings.map(str::to_owned);
    let columns = Columns::of(rows.iter().chain([&headings])).within(width.saturating_sub(MARGIN));
    for line in columns.lay_out(&headings) {
        println!("  {HEAD}{line}{HEAD:#}");
    }
    for (performance, row) in performances.iter().zip(rows) {
        let (style, sign) = if performance.is_good() { (GOOD, "✓") } else { (BAD, "✗") };
        let signs = [sign].into_iter().chain(repeat(" "));
        for (sign, line) in signs.zip(columns.lay_out(row)) {
            println!("{style}{sign}{style:#} {line}");
        }
        for fault in &performance.faults {
            println!("    {BAD}{}: {fault}{BAD:#}", performance.case.name);
        }
    }
    let good = performances.iter().filter(|performance| performance.is_good()).count();
    println!("{}: {good} of {} as expected\n", example.name, performances.len());
    good == performances.len()
}

fn row(performance: &Performance<'_>) -> [String; 4] {
    let Performance { case, outcomes, decided_by, faults: _ } = performance;
    let expected = describe::expected(&case.expected);
    [request(case), expected, describe::outcomes(&case.expected, outcomes), decided_by.clone()]
}

/// What is sent, and how often.
fn request(case: &Case) -> String {
    let Request { method, host, path, headers } = &case.request;
    let host = latin1::text(host.as_deref().unwrap_or_default());
    let mut request = format!("{method} {host}{path}");
    if case.repeat.get() > 1 {
        request = format!("{} × {request}", case.repeat);
    }
    request.extend(headers.iter().map(|(name, value)| format!("\n  {name}: {}", latin1::text(value))));
    request
}

/// Says what to try: a request that arrives, one that does not, and where to look.
fn invite(example: &Example, testbed: &Testbed) {
    println!("{} runs until Ctrl-C. Try", example.name);
    for arrives in [true, false] {
        let case = example.cases.iter().find(|case| matches!(case.expected.end, End::Upstream(_)) == arrives);
        if let Some(case) = case {
            println!("  {}", curl(&case.request, testbed.service()));
        }
    }
    println!("  curl 'http://{}/stats?filter=mcwan'", testbed.envoy().admin());
    println!("  tail -f {}\n", testbed.envoy().access_log().display());
}

/// A request as a command; those of the examples hold no quotes.
fn curl(Request { method, host, path, headers }: &Request, service: SocketAddr) -> String {
    let host = host.iter().map(|host| ("Host", host));
    let headers = host.chain(headers.iter().map(|(name, value)| (&**name, value)));
    let options = headers.map(|(name, value)| format!("-H '{name}: {}' ", latin1::text(value)));
    format!("curl -i -X {method} {}'http://{service}{path}'", options.collect::<Vec<_>>().concat())
}
