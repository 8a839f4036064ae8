//! Where the rule of an `HTTPRoute` sends requests.

use mcwan_policy::wire::{Header, HeaderModifier};
use mcwan_policy::{PORT_HEADER, STEERING_HEADER};
use serde_json::Value;

use crate::json::put;
use crate::translate::{Destination, HeaderChanges, Import, MOST_WEIGHT, RULE_BACKENDS};

use super::forwarding::{self, Unsayable};
use super::service::{Service, reference, service};
use super::tier;

/// A destination, its share of a rule's requests, and what becomes of the headers of these alone.
pub(super) struct Backend<'b> {
    pub(super) destination: &'b Destination,
    pub(super) weight: u32,
    pub(super) headers: HeaderChanges,
}

/// The backendRefs of a rule for requests that came by a port. Each sets what mcwan itself tells the far gateway,
/// so that the rule's own filters have room for all that users may ask for.
pub(super) fn refs(import: &Import, backends: &[Backend<'_>], port: u16) -> Result<Vec<Value>, Unsayable> {
    let mut shares: Vec<_> = backends.iter().map(|backend| shares(import, backend.destination, port)).collect();
    if shares.iter().map(Vec::len).sum::<usize>() > RULE_BACKENDS {
        let whole = |backend: &Backend<'_>| vec![(service(import, backend.destination, port), 1)];
        shares = backends.iter().map(whole).collect();
    }
    // Weights are whole numbers: a share of a share needs room.
    let is_split = shares.len() > 1 && shares.iter().any(|shares| shares.len() > 1);
    let heaviest = backends.iter().map(|backend| u64::from(backend.weight)).max().unwrap_or_default();
    let scale = if is_split { (u64::from(MOST_WEIGHT) / heaviest.max(1)).clamp(1, 1_000) } else { 1 };
    let mut refs = Vec::new();
    for (backend, shares) in backends.iter().zip(shares) {
        let filters = filters(&backend.headers, backend.destination.told_port(port))?;
        let sum: u64 = shares.iter().map(|(_, share)| u64::from(*share)).sum();
        let is_alone = backends.len() == 1;
        for (service, share) in shares {
            let share = u64::from(share);
            let weight = match (is_alone, share, sum) {
                (true, ..) => share,
                (false, 0, _) | (false, _, 0) => 0,
                (false, ..) => (u64::from(backend.weight) * scale * share / sum).max(1),
            };
            let mut one = reference(&service);
            put(&mut one, "weight", weight);
            put(&mut one, "filters", filters.clone());
            refs.push(one);
        }
    }
    Ok(refs)
}

/// The Services that requests to a destination are shared between.
fn shares(import: &Import, destination: &Destination, port: u16) -> Vec<(Service, u32)> {
    match destination {
        Destination::Tier { .. } | Destination::Import { .. } => {
            let port = destination.told_port(port);
            let shares = |tier| tier::shares(import, tier, destination.cluster(), port);
            import.tier(destination).map(shares).unwrap_or_default()
        }
        Destination::Service { .. } => vec![(service(import, destination, port), 1)],
    }
}

fn filters(headers: &HeaderChanges, port: u16) -> Result<Vec<Value>, Unsayable> {
    let HeaderChanges { request, response } = headers;
    let mut request: HeaderModifier = request.clone();
    request.set.push(Header { name: PORT_HEADER.to_owned(), value: port.to_string() });
    request.remove.push(STEERING_HEADER.to_owned());
    forwarding::header_filters(&request, response)
}
