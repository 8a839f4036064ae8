//! The clusters as a graph, in the language of Graphviz.

use std::io::{self, Write};

use mcwan_core::api::ConnectionState;

use super::view::View;
use crate::cli::report::printable;

/// Prints a node for each cluster, and an edge where two may use a tier: dashed where one of them is silent, red where
/// policies conflict.
pub(super) fn print(out: &mut impl Write, view: &View) -> io::Result<()> {
    writeln!(out, "graph clusters {{")?;
    for cluster in &view.clusters {
        writeln!(out, "  {};", quoted(&cluster.name))?;
    }
    for pair in view.pairs.iter().filter(|pair| pair.why_none.is_none()) {
        let [one, other] = [0, 1].map(|end: usize| pair.clusters.get(end).map(|name| quoted(name)).unwrap_or_default());
        let style = match pair.status.state {
            Some(ConnectionState::Conflict) => ", color=red",
            Some(ConnectionState::Stale) => ", style=dashed",
            Some(ConnectionState::Connected | ConnectionState::NotConnected) | None => "",
        };
        writeln!(out, "  {one} -- {other} [label={}{style}];", quoted(&pair.permitted().join(", ")))?;
    }
    writeln!(out, "}}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""))
}
