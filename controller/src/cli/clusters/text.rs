//! All clusters and all pairs, for people.

use std::collections::HashMap;
use std::io::{self, Write};

use mcwan_core::api::ConnectionState;
use mcwan_core::connection::Member;
use mcwan_core::emit::kubernetes::{CLUSTER_LABEL, MANAGED_BY_LABEL};

use super::view::{ClusterView, PairView, View};
use crate::cli::table;

/// The columns of a terminal that a table takes at most, where something can be done about it.
const COLUMNS: usize = 120;
/// The labels that say nothing but what a cluster is called, and who wrote that.
const OURS: [&str; 3] = [CLUSTER_LABEL, MANAGED_BY_LABEL, Member::NAME_LABEL];

/// Prints the clusters, and below them the pairs: as a matrix where that fits.
pub(super) fn all(out: &mut impl Write, view: &View) -> io::Result<()> {
    let mut rows = vec![["CLUSTER", "LIVENESS", "DRIVERS", "LABELS"].map(str::to_owned).to_vec()];
    rows.extend(view.clusters.iter().map(row));
    shorten(&mut rows);
    table::print(out, &rows)?;
    if view.pairs.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let matrix = matrix(view);
    if table::width(&matrix) <= COLUMNS { table::print(out, &matrix) } else { table::print(out, &list(view)) }
}

fn row(cluster: &ClusterView) -> Vec<String> {
    let ClusterView { name, own, liveness, cable_drivers, labels } = cluster;
    let name = if *own { format!("{name} (this)") } else { name.clone() };
    let labels = labels.iter().filter(|(key, _)| !OURS.contains(&key.as_str()));
    let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    vec![name, liveness.unwrap_or("-").to_owned(), listed(cable_drivers), listed(&labels)]
}

/// Cuts what stands last to what is left of the columns.
fn shorten(rows: &mut [Vec<String>]) {
    let over = table::width(rows).saturating_sub(COLUMNS);
    let last = rows.iter().filter_map(|row| row.last()).map(|cell| cell.chars().count()).max().unwrap_or_default();
    let room = last.saturating_sub(over);
    for cell in rows.iter_mut().filter_map(|row| row.last_mut()).filter(|cell| cell.chars().count() > room) {
        *cell = cell.chars().take(room.saturating_sub(1)).chain(['…']).collect();
    }
}

/// A row and a column for each cluster. A cell says which tiers, or why none.
fn matrix(view: &View) -> Vec<Vec<String>> {
    let names: Vec<_> = view.clusters.iter().map(|cluster| &cluster.name).collect();
    let mut cells = HashMap::new();
    for pair in &view.pairs {
        let [one, other] = &pair.clusters;
        cells.insert((one, other), cell(pair));
        cells.insert((other, one), cell(pair));
    }
    let row = |one: &&String| {
        let of = |other: &&String| cells.get(&(*one, *other)).cloned().unwrap_or_else(|| "=".to_owned());
        [(*one).clone()].into_iter().chain(names.iter().map(of)).collect()
    };
    let head = ["PAIRS".to_owned()].into_iter().chain(names.iter().map(|name| (*name).clone())).collect();
    [head].into_iter().chain(names.iter().map(row)).collect()
}

fn cell(pair: &PairView) -> String {
    match (pair.why_none, pair.status.state) {
        (Some(reason), _) => format!("({reason})"),
        (None, Some(ConnectionState::Conflict)) => format!("{} (Conflict)", pair.permitted().join(",")),
        (None, _) => pair.permitted().join(","),
    }
}

/// A row for each pair.
fn list(view: &View) -> Vec<Vec<String>> {
    let row = |pair: &PairView| {
        let [one, other] = pair.clusters.clone();
        let state = pair.status.state.map_or("-", ConnectionState::name);
        let tiers = pair.why_none.map_or_else(|| pair.permitted().join(","), |reason| format!("({reason})"));
        let policies = match (&pair.status.policy, pair.status.conflicting_policies.as_slice()) {
            (Some(policy), _) => policy.clone(),
            (None, conflicting) => listed(conflicting),
        };
        vec![one, other, state.to_owned(), tiers, policies]
    };
    let head = ["CLUSTER", "CLUSTER", "STATE", "TIERS", "POLICY"].map(str::to_owned).to_vec();
    [head].into_iter().chain(view.pairs.iter().map(row)).collect()
}

fn listed(items: &[String]) -> String {
    if items.is_empty() { "-".to_owned() } else { items.join(",") }
}
