//! What the WAN does to packets: which it loses, and which come late.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::flow::Flow;
use super::impairment::{Impairment, Ways};
use super::packet::Segment;
use super::queue::Queue;
use crate::network::Network;

/// The WAN's state, as tests make it.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    cut_ports: BTreeSet<u16>,
    cut_pairs: BTreeSet<[Network; 2]>,
    impairments: BTreeMap<Ways, Impairment>,
    /// Those that are impaired, or were.
    queues: BTreeMap<Flow, Queue>,
    seed: u64,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Delivered,
    /// It is delivered at a time, after those that were sent the same way before it.
    Due(Instant),
}

impl Weather {
    /// All is well. Chance is drawn from the seed.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            cut_ports: BTreeSet::new(),
            cut_pairs: BTreeSet::new(),
            impairments: BTreeMap::new(),
            queues: BTreeMap::new(),
            seed,
        }
    }

    pub(super) fn set_port_cut(&mut self, port: u16, is_cut: bool) {
        if is_cut {
            self.cut_ports.insert(port);
        } else {
            self.cut_ports.remove(&port);
        }
    }

    pub(super) fn set_pair_cut(&mut self, one: Network, other: Network, is_cut: bool) {
        if is_cut {
            self.cut_pairs.insert(pair(one, other));
        } else {
            self.cut_pairs.remove(&pair(one, other));
        }
    }

    /// Impairs what goes these ways, in place of what was said of the same ways; what was said of others that have some of
    /// them adds up.
    pub(super) fn impair(&mut self, ways: Ways, impairment: Impairment) {
        if impairment == Impairment::NONE {
            self.impairments.remove(&ways);
        } else {
            self.impairments.insert(ways, impairment);
        }
    }

    /// What becomes of a packet that is sent now. A port that is cut means both directions.
    pub(super) fn fate(&mut self, now: Instant, from: Network, to: Network, segment: Option<Segment>) -> Fate {
        let is_cut =
            |segment: Segment| [segment.to_port, segment.from_port].iter().any(|it| self.cut_ports.contains(it));
        if self.cut_pairs.contains(&pair(from, to)) || segment.is_some_and(is_cut) {
            return Fate::Lost;
        }
        let Some(flow) = segment.map(|segment| Flow::of(from, to, segment)) else { return Fate::Delivered };
        let mut impairments = self.impairments.iter().filter(|(ways, _)| ways.have(flow)).map(|(_, it)| *it).peekable();
        if impairments.peek().is_none() && !self.queues.contains_key(&flow) {
            return Fate::Delivered;
        }
        // Also where it is well again: others may be under way still.
        let queue = self.queues.entry(flow).or_insert_with(|| Queue::new(self.seed, flow));
        queue.send(now, impairments).map_or(Fate::Lost, Fate::Due)
    }
}

fn pair(one: Network, other: Network) -> [Network; 2] {
    [one.min(other), one.max(other)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wan::flow::Direction;

    const ONE: Network = Network::of_cluster(1);
    const TWO: Network = Network::of_cluster(2);
    const THREE: Network = Network::of_cluster(3);

    const PORT: u16 = 31_111;

    fn mk_segment(from_port: u16, to_port: u16) -> Segment {
        Segment { from_port, to_port, sequence: 0, opens: false }
    }

    #[test]
    fn a_port_is_cut_in_both_directions() {
        let (mut weather, now) = (Weather::new(1), Instant::now());
        weather.set_port_cut(PORT, true);
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(50_000, PORT))), Fate::Lost);
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(PORT, 50_000))), Fate::Lost);
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(50_000, 31_112))), Fate::Delivered);
        weather.set_port_cut(PORT, false);
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(50_000, PORT))), Fate::Delivered);
    }

    #[test]
    fn so_is_a_pair() {
        let (mut weather, now) = (Weather::new(1), Instant::now());
        weather.set_pair_cut(TWO, ONE, true);
        assert_eq!(weather.fate(now, ONE, TWO, None), Fate::Lost);
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(1, 2))), Fate::Lost);
        assert_eq!(weather.fate(now, ONE, THREE, Some(mk_segment(1, 2))), Fate::Delivered);
    }

    #[test]
    fn a_delay_is_for_requests_and_replies() {
        let (mut weather, now) = (Weather::new(1), Instant::now());
        let due = now + Duration::from_millis(50);
        weather.impair(Ways::of_port(PORT), Impairment::late(due - now));
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(50_000, PORT))), Fate::Due(due));
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(PORT, 50_000))), Fate::Due(due));
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(31_112, 50_000))), Fate::Delivered, "another port");
        assert_eq!(weather.fate(now, ONE, TWO, None), Fate::Delivered, "no port");
    }

    #[test]
    fn what_was_late_stays_before_what_is_sent_once_all_is_well() {
        let (mut weather, now) = (Weather::new(1), Instant::now());
        let due = now + Duration::from_millis(50);
        let segment = Some(mk_segment(50_000, PORT));
        weather.impair(Ways::of_port(PORT), Impairment::late(due - now));
        assert_eq!(weather.fate(now, TWO, ONE, segment), Fate::Due(due));
        weather.impair(Ways::of_port(PORT), Impairment::NONE);
        assert_eq!(weather.fate(now, TWO, ONE, segment), Fate::Due(due));
        let later = due + Duration::from_millis(1);
        assert_eq!(weather.fate(later, TWO, ONE, segment), Fate::Due(later), "it is well again");
        assert_eq!(weather.fate(now, THREE, ONE, segment), Fate::Delivered, "it was never bad");
    }

    #[test]
    fn what_is_said_of_a_way_adds_up_and_is_replaced() {
        let (mut weather, now) = (Weather::new(1), Instant::now());
        let late = |milliseconds| Duration::from_millis(milliseconds);
        let (all, back) = (Ways::of_port(PORT), Ways::of_port(PORT).only(Direction::Reply));
        weather.impair(all, Impairment::late(late(10)));
        weather.impair(back, Impairment::late(late(40)));
        assert_eq!(weather.fate(now, TWO, ONE, Some(mk_segment(50_000, PORT))), Fate::Due(now + late(10)));
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(PORT, 50_000))), Fate::Due(now + late(50)));
        weather.impair(all, Impairment::HOLE);
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(PORT, 50_000))), Fate::Lost);
        weather.impair(all, Impairment::late(late(20)));
        assert_eq!(weather.fate(now, ONE, TWO, Some(mk_segment(PORT, 50_000))), Fate::Due(now + late(60)));
    }
}
