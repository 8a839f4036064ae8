//! Which packets go one way together.

use super::packet::Segment;
use crate::namespace::FIRST_EPHEMERAL_PORT;
use crate::network::Network;

/// What goes from one network to another in one direction of a TCP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flow {
    pub(super) from: Network,
    pub(super) to: Network,
    pub(super) direction: Direction,
    /// The port that is listened on, wherever the packet goes.
    pub(super) port: u16,
}

/// Whether a packet goes to the port that is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// It does.
    Request,
    /// It comes from there.
    Reply,
}

impl From<Direction> for u8 {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Request => 0,
            Direction::Reply => 1,
        }
    }
}

impl Flow {
    /// The one that a segment belongs to.
    pub(super) fn of(from: Network, to: Network, segment: Segment) -> Self {
        let (direction, port) = if segment.to_port < FIRST_EPHEMERAL_PORT {
            (Direction::Request, segment.to_port)
        } else {
            (Direction::Reply, segment.from_port)
        };
        Self { from, to, direction, port }
    }

    /// The networks of who asks, and of who listens.
    pub(super) fn pair(self) -> (Network, Network) {
        match self.direction {
            Direction::Request => (self.from, self.to),
            Direction::Reply => (self.to, self.from),
        }
    }
}
