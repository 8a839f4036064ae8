//! Of imports that have no room together.

use std::time::Duration;

use mcwan_core::emit::object::Kind;

use super::{SECOND, SOON, export, holds_under};
use crate::script::{Backend, ExportWish, Extra, ImportWish, Pace, RuleWish, Size, Step};

/// Under how many seeds each holds: large imports take six times as long as others.
const SEEDS: u64 = 20;

const LOW: Backend = Backend::Tier(1);
const HIGH: Backend = Backend::Tier(0);

fn exported(cluster: usize, ports: &[u16], pods: u32, default_tier: Option<usize>) -> Step {
    Step::Export(1, cluster, ExportWish { ports: ports.to_vec(), pods, default_tier, is_headless: false })
}

fn sized(service: usize, size: Size, hosts: &[usize], rules: &[RuleWish]) -> Step {
    Step::Import(service, ImportWish { hosts: hosts.to_vec(), rules: rules.to_vec(), size, is_native: false })
}

fn rule(path: usize, backends: &[(Backend, u32)], extra: Extra) -> RuleWish {
    (path, backends.to_vec(), extra)
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// An import that has no room has none for as long as another one is large: that this became smaller meanwhile, no gateway was
/// told.
#[test]
fn an_import_without_room_has_none_until_gateways_are_told_so() {
    let twice = |backend, extra| [rule(2, &[(backend, 2)], extra), rule(1, &[(backend, 2)], Extra::Nothing)];
    let of_this_cluster = [rule(2, &[(Backend::Local, 2)], Extra::Nothing), rule(0, &[(LOW, 1)], Extra::Timeout(3))];
    let smaller = [rule(0, &[(LOW, 2)], Extra::Header(1)), rule(2, &[(LOW, 2), (HIGH, 1)], Extra::Timeout(2))];
    let large_again = [rule(2, &[(LOW, 1)], Extra::Fallback(1))];
    let steps = [
        (milliseconds(163), exported(0, &[8080, 9090], 1, Some(0))),
        (milliseconds(1_434), exported(1, &[8080], 3, None)),
        (milliseconds(6_979), sized(1, Size::MoreThanHalf, &[], &twice(HIGH, Extra::Timeout(3)))),
        (Duration::from_micros(2_366_875), sized(0, Size::MoreThanHalf, &[1], &of_this_cluster)),
        (milliseconds(2_162), sized(1, Size::Little, &[], &twice(LOW, Extra::Nothing))),
        (milliseconds(289), sized(0, Size::Little, &[0], &smaller)),
        (milliseconds(326), sized(1, Size::MoreThanHalf, &[0, 1], &large_again)),
    ];
    let found = 4_088_680_309_816_257_179;
    holds_under(found..found + SEEDS, Pace::Kept, &steps);
}

/// An import without room takes no host of another one before it has room.
#[test]
fn an_import_without_room_takes_no_host() {
    let large = [
        rule(1, &[(HIGH, 1)], Extra::Nothing),
        rule(1, &[(HIGH, 1)], Extra::Nothing),
        rule(2, &[(HIGH, 2), (HIGH, 1)], Extra::Timeout(2)),
    ];
    let with_a_host = [
        rule(0, &[(LOW, 2), (HIGH, 2)], Extra::Fallback(1)),
        rule(2, &[(HIGH, 2)], Extra::Header(3)),
        rule(1, &[(LOW, 1)], Extra::Fallback(1)),
    ];
    let smaller = [
        rule(1, &[(HIGH, 1)], Extra::Fallback(0)),
        rule(2, &[(LOW, 1)], Extra::Fallback(0)),
        rule(0, &[(HIGH, 2)], Extra::Nothing),
    ];
    let large_again = [
        rule(0, &[(LOW, 2)], Extra::Timeout(2)),
        rule(1, &[(HIGH, 1)], Extra::Header(3)),
        rule(2, &[(HIGH, 2)], Extra::Timeout(2)),
    ];
    let steps = [
        (milliseconds(579), exported(1, &[8080], 2, Some(0))),
        (milliseconds(326), Step::OwnExport(0, 1)),
        (milliseconds(25_734), sized(1, Size::MoreThanHalf, &[], &large)),
        (
            Duration::from_micros(3_744_750),
            sized(0, Size::MoreThanHalf, &[1], &[rule(1, &[(LOW, 2)], Extra::Header(2))]),
        ),
        (milliseconds(12_213), sized(1, Size::Little, &[0], &with_a_host)),
        (milliseconds(379), sized(0, Size::Little, &[], &smaller)),
        (Duration::ZERO, sized(1, Size::MoreThanHalf, &[0], &large_again)),
    ];
    let found = 7_703_361_661_408_267_862;
    holds_under(found..found + SEEDS, Pace::Kept, &steps);
}

/// A filter that somebody takes away is written again at once, though it has no room for all and would wait for an import whose
/// routes are refused.
#[test]
fn a_filter_without_room_for_all_that_is_taken_away_is_written_at_once() {
    let large =
        |service, path, tier| sized(service, Size::MoreThanHalf, &[], &[rule(path, &[(tier, 1)], Extra::Nothing)]);
    let steps = [
        (SECOND, export(0)),
        (SECOND, export(1)),
        (SECOND, large(0, 1, HIGH)),
        (SECOND, large(1, 1, HIGH)),
        (20 * SECOND, Step::Refuse(Kind::HttpRoute, Some(1), 60 * SECOND)),
        (SOON, large(1, 1, LOW)),
        (SOON, large(0, 2, HIGH)),
        (2 * SECOND, Step::Undefine(Kind::WasmPlugin, milliseconds(1))),
        (5 * SECOND, Step::Expect(0)),
    ];
    holds_under(0..SEEDS, Pace::Smooth, &steps);
}
