//! What the WAN does to packets: which it loses, and which come late.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use super::packet::Segment;
use crate::network::Network;

/// The WAN's state, as tests make it.
#[derive(Clone, Debug, Default)]
pub(super) struct Weather {
    cut_ports: BTreeSet<u16>,
    cut_pairs: BTreeSet<[Network; 2]>,
    delays: BTreeMap<u16, Duration>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Delivered,
    Late(Duration),
}

impl Weather {
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

    pub(super) fn set_delay(&mut self, port: u16, delay: Duration) {
        if delay.is_zero() {
            self.delays.remove(&port);
        } else {
            self.delays.insert(port, delay);
        }
    }

    /// What becomes of a packet. A port means both directions.
    pub(super) fn fate(&self, from: Network, to: Network, segment: Option<Segment>) -> Fate {
        let ports = segment.map_or([None; 2], |segment| [Some(segment.to_port), Some(segment.from_port)]);
        let mut ports = ports.into_iter().flatten();
        if self.cut_pairs.contains(&pair(from, to)) || ports.clone().any(|port| self.cut_ports.contains(&port)) {
            return Fate::Lost;
        }
        ports.find_map(|port| self.delays.get(&port)).map_or(Fate::Delivered, |delay| Fate::Late(*delay))
    }
}

fn pair(one: Network, other: Network) -> [Network; 2] {
    [one.min(other), one.max(other)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Network = Network::of_cluster(1);
    const TWO: Network = Network::of_cluster(2);
    const THREE: Network = Network::of_cluster(3);

    fn mk_segment(from_port: u16, to_port: u16) -> Segment {
        Segment { from_port, to_port, sequence: 0, opens: false }
    }

    #[test]
    fn a_port_is_cut_in_both_directions() {
        let mut weather = Weather::default();
        weather.set_port_cut(31_111, true);
        assert_eq!(weather.fate(TWO, ONE, Some(mk_segment(50_000, 31_111))), Fate::Lost);
        assert_eq!(weather.fate(ONE, TWO, Some(mk_segment(31_111, 50_000))), Fate::Lost);
        assert_eq!(weather.fate(TWO, ONE, Some(mk_segment(50_000, 31_112))), Fate::Delivered);
        weather.set_port_cut(31_111, false);
        assert_eq!(weather.fate(TWO, ONE, Some(mk_segment(50_000, 31_111))), Fate::Delivered);
    }

    #[test]
    fn so_is_a_pair() {
        let mut weather = Weather::default();
        weather.set_pair_cut(TWO, ONE, true);
        assert_eq!(weather.fate(ONE, TWO, None), Fate::Lost);
        assert_eq!(weather.fate(TWO, ONE, Some(mk_segment(1, 2))), Fate::Lost);
        assert_eq!(weather.fate(ONE, THREE, Some(mk_segment(1, 2))), Fate::Delivered);
    }

    #[test]
    fn a_delay_is_for_requests_and_replies() {
        let (mut weather, delay) = (Weather::default(), Duration::from_millis(50));
        weather.set_delay(31_111, delay);
        assert_eq!(weather.fate(TWO, ONE, Some(mk_segment(50_000, 31_111))), Fate::Late(delay));
        assert_eq!(weather.fate(ONE, TWO, Some(mk_segment(31_111, 50_000))), Fate::Late(delay));
        weather.set_delay(31_111, Duration::ZERO);
        assert_eq!(weather.fate(ONE, TWO, Some(mk_segment(31_111, 50_000))), Fate::Delivered);
    }
}
