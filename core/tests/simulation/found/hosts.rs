//! Of hosts that move.

use std::time::Duration;

use mcwan_core::emit::object::Kind;

use super::{SECOND, SOON, export, holds, import, rule};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Pace, Step};

fn with_hosts(service: usize, hosts: &[usize], timeout: u8) -> Step {
    let rules = vec![rule(0, Backend::Tier(0), Extra::Timeout(timeout))];
    Step::Import(service, ImportWish { hosts: hosts.to_vec(), rules, ..ImportWish::default() })
}

/// A host that one import has by a wildcard moves to another like any other.
#[test]
fn a_host_of_a_wildcard_waits_for_who_gains_it() {
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, with_hosts(0, &[], 1)),
        (SECOND, with_hosts(1, &[1], 1)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(0), 15 * SECOND)),
        (SOON, with_hosts(0, &[0], 2)),
        (SOON, with_hosts(1, &[], 1)),
    ];
    holds(Pace::Kept, &steps);
}

/// A host passes on only to who has it by then: one that waits with a host of its own gains none meanwhile.
#[test]
fn a_host_passes_on_through_one_that_waits() {
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, export(2)),
        (SECOND, with_hosts(0, &[], 1)),
        (SECOND, with_hosts(1, &[1], 1)),
        (SECOND, with_hosts(2, &[0], 1)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(0), 15 * SECOND)),
        (SOON, with_hosts(0, &[0], 2)),
        (SOON, with_hosts(2, &[1], 1)),
        (SOON, with_hosts(1, &[], 1)),
    ];
    holds(Pace::Kept, &steps);
}

/// An import that gives up a host and wants it back keeps it meanwhile.
#[test]
fn an_import_keeps_a_host_that_it_gets_back() {
    // Without rules, it needs nothing, so it is ready at once.
    let wish = ExportWish { ports: vec![8080], pods: 2, default_tier: None, is_headless: false };
    let steps = [
        (SECOND, Step::Export(0, 0, wish)),
        (SECOND, export(1)),
        (SECOND, with_hosts(0, &[0], 1)),
        (SECOND, import(1, &[])),
        (10 * SECOND, with_hosts(1, &[0], 2)),
        (SOON, Step::NoImport(0)),
        (Duration::ZERO, with_hosts(0, &[1], 2)),
        (SOON / 2, with_hosts(1, &[], 3)),
    ];
    holds(Pace::Kept, &steps);
}
