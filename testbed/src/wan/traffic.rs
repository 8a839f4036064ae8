//! What the router has counted.

use std::collections::BTreeMap;

use super::flow::{Direction, Flow};
use super::packet::Segment;
use crate::network::Network;

/// What went between clusters, by TCP port. A snapshot: it does not count on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    flows: BTreeMap<Flow, Count>,
}

/// How much it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets that asked for a connection, repeated ones included.
    pub connections: u64,
    /// Packets.
    pub packets: u64,
    /// Bytes, headers of IP and TCP included.
    pub bytes: u64,
    /// Bytes that TCP carried: none in a packet that only acknowledges.
    pub payload: u64,
}

impl Traffic {
    /// What clients in one cluster sent to a port of another.
    pub fn requests(&self, from: u8, to: u8, port: u16) -> Count {
        self.count(from, to, Direction::Request, port)
    }

    /// What they were answered: it went the other way.
    pub fn replies(&self, from: u8, to: u8, port: u16) -> Count {
        self.count(to, from, Direction::Reply, port)
    }

    /// The ports of another cluster that clients in one have sent anything to, and how much. Acknowledgements count, and
    /// may come long after what they are for; what was said is in a [`Recording`](super::Recording).
    pub fn ports(&self, from: u8, to: u8) -> BTreeMap<u16, Count> {
        let (from, to) = (Network::of_cluster(from), Network::of_cluster(to));
        let flows = self.flows.iter().filter(|(flow, _)| flow.direction == Direction::Request);
        flows.filter(|(flow, _)| flow.from == from && flow.to == to).map(|(flow, count)| (flow.port, *count)).collect()
    }

    /// What has come since an earlier snapshot of the same router; ports without anything new are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let flows = self.flows.iter().map(|(flow, count)| {
            let before = earlier.flows.get(flow).copied().unwrap_or_default();
            (*flow, count.minus(before))
        });
        Self { flows: flows.filter(|(_, count)| *count != Count::default()).collect() }
    }

    /// Counts a packet of so many bytes, so many of them carried by TCP.
    pub(super) fn add(&mut self, from: Network, to: Network, segment: Segment, bytes: usize, payload: usize) {
        let count = self.flows.entry(Flow::of(from, to, segment)).or_default();
        count.connections += u64::from(segment.opens);
        count.packets += 1;
        let number = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        count.bytes = count.bytes.saturating_add(number(bytes));
        count.payload = count.payload.saturating_add(number(payload));
    }

    fn count(&self, from: u8, to: u8, direction: Direction, port: u16) -> Count {
        let (from, to) = (Network::of_cluster(from), Network::of_cluster(to));
        self.flows.get(&Flow { from, to, direction, port }).copied().unwrap_or_default()
    }
}

impl Count {
    fn minus(self, other: Self) -> Self {
        Self {
            connections: self.connections.saturating_sub(other.connections),
            packets: self.packets.saturating_sub(other.packets),
            bytes: self.bytes.saturating_sub(other.bytes),
            payload: self.payload.saturating_sub(other.payload),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Network = Network::of_cluster(1);
    const TWO: Network = Network::of_cluster(2);

    fn mk_segment(from_port: u16, to_port: u16, opens: bool) -> Segment {
        Segment { from_port, to_port, sequence: 0, opens }
    }

    #[test]
    fn a_reply_is_counted_where_its_request_was() {
        let mut traffic = Traffic::default();
        traffic.add(TWO, ONE, mk_segment(50_000, 31_111, true), 60, 0);
        traffic.add(TWO, ONE, mk_segment(50_000, 31_111, false), 100, 48);
        traffic.add(ONE, TWO, mk_segment(31_111, 50_000, false), 1_500, 1_448);
        assert_eq!(traffic.requests(2, 1, 31_111), Count { connections: 1, packets: 2, bytes: 160, payload: 48 });
        assert_eq!(traffic.replies(2, 1, 31_111), Count { connections: 0, packets: 1, bytes: 1_500, payload: 1_448 });
        assert_eq!(traffic.ports(2, 1).into_keys().collect::<Vec<_>>(), [31_111]);
        assert_eq!(traffic.ports(1, 2), BTreeMap::new());
    }

    #[test]
    fn only_what_is_new_is_left_of_a_difference() {
        let mut traffic = Traffic::default();
        traffic.add(TWO, ONE, mk_segment(50_000, 31_111, true), 60, 0);
        let before = traffic.clone();
        traffic.add(TWO, ONE, mk_segment(50_001, 31_112, true), 60, 0);
        assert_eq!(traffic.since(&before).ports(2, 1).into_keys().collect::<Vec<_>>(), [31_112]);
        assert_eq!(traffic.since(&traffic), Traffic::default());
    }
}
