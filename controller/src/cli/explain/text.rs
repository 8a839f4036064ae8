//! An explanation for people.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use mcwan_core::api::{Cors, Timeouts};
use mcwan_core::explain::{
    Asked, ClusterOutcome, ConsideredAlternative, Outcome, OutcomeKind, Reply, ResponseHeaders, RouteFeatures,
    TierOutcome,
};
use mcwan_core::translate::{Destination, Mirror};

use crate::cli::report::printable;

const HEADING: Style = Style::new().bold();
const TAKEN: Style = AnsiColor::Green.on_default();
const REFUSED: Style = AnsiColor::Yellow.on_default();
const LABEL: Style = Style::new().dimmed();

/// Prints what becomes of a request, and why.
pub(super) fn print(
    out: &mut impl Write,
    asked: &Asked,
    outcome: &Outcome,
    considered: &[ConsideredAlternative],
) -> io::Result<()> {
    let Asked { method, scheme, host, port: _, path, lines: _ } = asked;
    writeln!(out, "{HEADING}{}{HEADING:#}", printable(&format!("{method} {scheme}://{host}{path}")))?;
    if let Some(import) = &outcome.import {
        field(out, "import", import)?;
    }
    if let Some(rule) = outcome.rule {
        let taken = considered.iter().find(|considered| considered.taken);
        let name = taken.and_then(|taken| taken.name.as_deref());
        field(out, "rule", rule_name(rule, name, outcome.r#match))?;
        if let Some(object) = taken.and_then(|taken| taken.object.as_deref()) {
            field(out, "written in", printable(object))?;
        }
    }
    match outcome.kind {
        OutcomeKind::Pass => field(out, "goes on", "as it is, unsteered: its host belongs to no import")?,
        OutcomeKind::Route => route(out, asked, outcome)?,
        OutcomeKind::Reply => reply(out, outcome)?,
    }
    tiers(out, outcome.tiers.as_deref().unwrap_or_default())?;
    for (index, considered) in considered.iter().enumerate() {
        let ConsideredAlternative { rule, name, object, alternative, taken, why } = considered;
        let (style, verdict) = if *taken { (TAKEN, "takes it") } else { (Style::new(), "does not take it") };
        let rule = rule_name(*rule, name.as_deref(), *alternative);
        let of = object.as_ref().map(|object| format!(" ({})", printable(object))).unwrap_or_default();
        let line = format!("rule {rule}{of} {style}{verdict}{style:#}: {}", printable(why));
        line_of(out, if index == 0 { "because" } else { "" }, line)?;
    }
    Ok(())
}

/// The tiers that the request might take, and the clusters of each.
fn tiers(out: &mut impl Write, tiers: &[TierOutcome]) -> io::Result<()> {
    for (index, TierOutcome { name, verdict, clusters }) in tiers.iter().enumerate() {
        let style = if verdict.is_taken() { TAKEN } else { Style::new() };
        let label = if index == 0 { "tiers" } else { "" };
        line_of(out, label, format!("{name} {style}{}{style:#}", verdict.as_str()))?;
        for ClusterOutcome { name, weight, level, takes_part } in clusters {
            let level = level.as_deref().unwrap_or("here");
            let part = if *takes_part { format!("weight {weight}") } else { "takes no part".to_owned() };
            field(out, "", format!("  cluster {name}: {level}, {part}"))?;
        }
    }
    Ok(())
}

fn route(out: &mut impl Write, asked: &Asked, outcome: &Outcome) -> io::Result<()> {
    if let (Some(destination), Some(target)) = (&outcome.destination, &outcome.target) {
        let destination = destination_name(destination);
        line_of(out, "goes to", format!("{TAKEN}{destination}{TAKEN:#}, by target {target}"))?;
    }
    if let Some(authority) = &outcome.authority {
        changed(out, "authority", authority, &asked.host)?;
    }
    if let Some(path) = &outcome.path {
        changed(out, "path", path, &asked.path)?;
    }
    let headers = outcome.request_headers.iter().flatten();
    list(out, "headers", headers.map(|(name, value)| format!("{name}: {value}")))?;
    if let Some(ResponseHeaders { set, add, remove }) = &outcome.response_headers {
        let set = set.iter().map(|(name, value)| format!("set {name}: {value}"));
        let add = add.iter().map(|(name, value)| format!("add {name}: {value}"));
        let remove = remove.iter().map(|name| format!("remove {name}"));
        list(out, "response", remove.chain(set).chain(add))?;
    }
    if let Some(RouteFeatures { timeouts, mirrors, cors }) = &outcome.forwarding {
        if let Some(Timeouts { request, backend_request }) = timeouts {
            let request = request.map(|request| format!("{request} for the request"));
            let backend_request = backend_request.map(|attempt| format!("{attempt} for an attempt"));
            list(out, "timeouts", request.into_iter().chain(backend_request))?;
        }
        list(out, "mirrors", mirrors.iter().map(mirror))?;
        if let Some(Cors { allow_origins, .. }) = cors {
            field(out, "cors", format!("for {}", allow_origins.join(", ")))?;
        }
    }
    Ok(())
}

fn reply(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    if let Some(Reply { status, headers, body }) = &outcome.reply {
        line_of(out, "answer", format!("{REFUSED}{status}{REFUSED:#} {}", printable(body.trim_end())))?;
        list(out, "headers", headers.iter().map(|(name, value)| format!("{name}: {value}")))?;
    }
    Ok(())
}

fn rule_name(rule: usize, name: Option<&str>, alternative: Option<usize>) -> String {
    let name = name.map(|name| format!(" ({})", printable(name))).unwrap_or_default();
    let alternative = alternative.map(|alternative| format!(", match {alternative}")).unwrap_or_default();
    format!("{rule}{name}{alternative}")
}

fn destination_name(destination: &Destination) -> String {
    match destination {
        Destination::Tier { name, cluster: None } => format!("tier {name}"),
        Destination::Tier { name, cluster: Some(cluster) } => format!("tier {name} to cluster {cluster}"),
        Destination::Import { namespace, name, tier, port } => {
            let port = port.map(|port| format!(" port {port}")).unwrap_or_default();
            format!("{namespace}/{name}{port} over tier {tier}")
        }
        Destination::Service { namespace, name, port } => {
            let port = port.map(|port| format!(" port {port}")).unwrap_or_default();
            format!("Service {namespace}/{name}{port}")
        }
    }
}

fn mirror(Mirror { destination, per_million }: &Mirror) -> String {
    let percent = f64::from(*per_million) / 10_000.0;
    format!("{percent} % to {}", destination_name(destination))
}

fn changed(out: &mut impl Write, label: &str, now: &str, before: &str) -> io::Result<()> {
    if now == before { field(out, label, now) } else { field(out, label, format!("{now} (was {before})")) }
}

fn list(out: &mut impl Write, label: &str, items: impl Iterator<Item = String>) -> io::Result<()> {
    items.enumerate().try_for_each(|(index, item)| field(out, if index == 0 { label } else { "" }, item))
}

fn field(out: &mut impl Write, label: &str, value: impl Display) -> io::Result<()> {
    line_of(out, label, printable(&value.to_string()))
}

/// A line whose text is printable as it is.
fn line_of(out: &mut impl Write, label: &str, text: impl Display) -> io::Result<()> {
    writeln!(out, "  {LABEL}{label:<11}{LABEL:#}{text}")
}
