//! What a WAN that is not at its best does to packets, and to which.

use std::time::Duration;

use super::flow::{Direction, Flow};
use crate::network::Network;

/// Which packets: those of a TCP port that is listened on, of all clusters and in both directions, or of fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ways {
    port: u16,
    pair: Option<(Network, Network)>,
    direction: Option<Direction>,
}

/// What becomes of them. It is told one way; what is asked and answered goes both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// So much later does each come.
    pub delay: Duration,
    /// By up to so much more, by chance; yet none comes before one that was sent before it.
    pub jitter: Duration,
    /// So many of a hundred are lost, by chance.
    pub loss_percent: u8,
}

impl Ways {
    /// Those to a port, and the replies.
    pub const fn of_port(port: u16) -> Self {
        Self { port, pair: None, direction: None }
    }

    /// Of these, those of clients in one cluster and servers in another.
    #[must_use]
    pub const fn between(self, client: u8, server: u8) -> Self {
        Self { pair: Some((Network::of_cluster(client), Network::of_cluster(server))), ..self }
    }

    /// Of these, those of one direction.
    #[must_use]
    pub const fn only(self, direction: Direction) -> Self {
        Self { direction: Some(direction), ..self }
    }

    /// Whether what goes this way is among them.
    pub(super) fn have(self, flow: Flow) -> bool {
        self.port == flow.port
            && self.pair.is_none_or(|pair| pair == flow.pair())
            && self.direction.is_none_or(|direction| direction == flow.direction)
    }
}

impl Impairment {
    /// Nothing becomes of them.
    pub const NONE: Self = Self { delay: Duration::ZERO, jitter: Duration::ZERO, loss_percent: 0 };

    /// All are lost.
    pub const HOLE: Self = Self { loss_percent: 100, ..Self::NONE };

    /// Each comes later.
    pub const fn late(delay: Duration) -> Self {
        Self { delay, ..Self::NONE }
    }

    /// The same, later by chance.
    #[must_use]
    pub const fn with_jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// The same with losses.
    #[must_use]
    pub const fn with_loss(self, percent: u8) -> Self {
        Self { loss_percent: percent, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Network = Network::of_cluster(1);
    const TWO: Network = Network::of_cluster(2);
    const THREE: Network = Network::of_cluster(3);

    #[test]
    fn ways_are_told_by_port_pair_and_direction() {
        use Direction::{Reply, Request};
        let flow = |from, to, direction, port| Flow { from, to, direction, port };
        let all = Ways::of_port(31_111);
        let table = [
            (all, flow(TWO, ONE, Request, 31_111), true, "to the port"),
            (all, flow(ONE, TWO, Reply, 31_111), true, "from the port"),
            (all, flow(TWO, ONE, Request, 31_112), false, "to another port"),
            (all.between(2, 1), flow(TWO, ONE, Request, 31_111), true, "from the client's cluster"),
            (all.between(2, 1), flow(ONE, TWO, Reply, 31_111), true, "the answer to it"),
            (all.between(2, 1), flow(ONE, TWO, Request, 31_111), false, "what the server's cluster asks"),
            (all.between(2, 1), flow(TWO, THREE, Request, 31_111), false, "to another cluster"),
            (all.only(Request), flow(TWO, ONE, Request, 31_111), true, "of the direction"),
            (all.only(Request), flow(ONE, TWO, Reply, 31_111), false, "of the other direction"),
            (all.between(2, 1).only(Reply), flow(ONE, TWO, Reply, 31_111), true, "both"),
        ];
        for (ways, flow, is_among, what) in table {
            assert_eq!(ways.have(flow), is_among, "{what}");
        }
    }
}
