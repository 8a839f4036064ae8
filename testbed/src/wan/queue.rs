//! Packets of one way, which keep their order.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::flow::Flow;
use super::impairment::Impairment;

/// What is under way on a way, and what chance it has.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    random: Rng,
    /// When the last packet so far is due.
    last: Option<Instant>,
}

impl Queue {
    /// Nothing is under way. Chance is drawn from the seed, for each way by itself: what goes another way changes nothing.
    pub(super) fn new(seed: u64, flow: Flow) -> Self {
        let Flow { from, to, direction, port } = flow;
        let [port_0, port_1] = port.to_be_bytes();
        let of_way = [0, 0, 0, direction.into(), port_0, port_1, from.number(), to.number()];
        // Generators whose seeds differ little draw alike; what they draw first does not.
        let random = Rng::with_seed(Rng::with_seed(seed ^ u64::from_be_bytes(of_way)).u64(..));
        Self { random, last: None }
    }

    /// When a packet that is sent now is due; none: it is lost.
    pub(super) fn send(&mut self, now: Instant, impairments: impl Iterator<Item = Impairment>) -> Option<Instant> {
        let (mut delay, mut is_lost) = (Duration::ZERO, false);
        for Impairment { delay: least, jitter, loss_percent } in impairments {
            is_lost |= self.random.u8(..100) < loss_percent;
            let jitter = u64::try_from(jitter.as_micros()).unwrap_or(u64::MAX);
            delay += least + Duration::from_micros(self.random.u64(..=jitter));
        }
        if is_lost {
            return None;
        }
        let due = self.last.map_or(now + delay, |last| last.max(now + delay));
        self.last = Some(due);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::wan::flow::Direction;

    const FLOW: Flow =
        Flow { from: Network::of_cluster(2), to: Network::of_cluster(1), direction: Direction::Request, port: 31_111 };
    const MILLISECOND: Duration = Duration::from_millis(1);
    const JITTER: Impairment = Impairment::late(Duration::from_millis(10)).with_jitter(Duration::from_millis(40));
    const COUNT: u32 = 10_000;

    /// What becomes of packets that are sent so far apart: how late each is; none: it is lost.
    fn sent(queue: &mut Queue, apart: Duration, impairments: &[Impairment]) -> Vec<Option<Duration>> {
        let start = Instant::now();
        let times = (0..COUNT).map(|number| start + apart * number);
        times.map(|now| queue.send(now, impairments.iter().copied()).map(|due| due - now)).collect()
    }

    #[test]
    fn a_delay_is_the_same_for_all() {
        let late = Impairment::late(MILLISECOND * 40);
        let all = sent(&mut Queue::new(1, FLOW), MILLISECOND, &[late]);
        assert!(all.iter().all(|late| *late == Some(MILLISECOND * 40)));
        let all = sent(&mut Queue::new(1, FLOW), MILLISECOND, &[late, Impairment::NONE, late]);
        assert!(all.iter().all(|late| *late == Some(MILLISECOND * 80)), "two of them add up");
    }

    #[test]
    fn jitter_spreads_evenly() {
        // So far apart none waits for the one before.
        let all = sent(&mut Queue::new(1, FLOW), MILLISECOND * 50, &[JITTER]);
        let mut all: Vec<_> = all.into_iter().map(Option::unwrap).collect();
        all.sort_unstable();
        let of_hundred = |percent| all[all.len() * percent / 100];
        for (percent, late) in [(0, 10), (25, 20), (50, 30), (75, 40), (99, 50)] {
            let late = MILLISECOND * late;
            assert!(of_hundred(percent).abs_diff(late) < MILLISECOND, "{percent}: {:?}", of_hundred(percent));
        }
        assert!(all[all.len() - 1] <= MILLISECOND * 50);
    }

    #[test]
    fn none_comes_before_one_that_was_sent_before_it() {
        let (mut queue, start) = (Queue::new(1, FLOW), Instant::now());
        let mut before = start;
        let mut waited = 0;
        for number in 0..COUNT {
            let now = start + MILLISECOND * number;
            // It becomes better meanwhile.
            let impairment = if number < COUNT / 2 { JITTER } else { Impairment::NONE };
            let due = queue.send(now, [impairment].into_iter()).unwrap();
            assert!(due >= before && due >= now, "packet {number} comes before another");
            waited += u32::from(due == before);
            before = due;
        }
        assert!(waited > COUNT / 4, "{waited} had to wait");
        assert_eq!(before, start + MILLISECOND * (COUNT - 1), "it is well again");
    }

    #[test]
    fn so_many_of_a_hundred_are_lost() {
        for (percent, due) in [(0, 0..=0), (2, 150..=250), (20, 1_800..=2_200), (100, COUNT..=COUNT)] {
            let all = sent(&mut Queue::new(1, FLOW), MILLISECOND, &[Impairment::NONE.with_loss(percent)]);
            let lost = u32::try_from(all.iter().filter(|late| late.is_none()).count()).unwrap();
            assert!(due.contains(&lost), "{percent} %: {lost} of {COUNT}");
        }
    }

    #[test]
    fn chance_is_the_seed_s_and_the_way_s() {
        let draw = |seed, flow| sent(&mut Queue::new(seed, flow), MILLISECOND, &[JITTER.with_loss(50)]);
        let first = draw(1, FLOW);
        assert_eq!(draw(1, FLOW), first);
        let others = [
            (2, FLOW, "another seed"),
            (1, Flow { port: 31_112, ..FLOW }, "another port"),
            (1, Flow { direction: Direction::Reply, ..FLOW }, "the other direction"),
            (1, Flow { from: FLOW.to, to: FLOW.from, ..FLOW }, "the other way"),
        ];
        for (seed, flow, what) in others {
            let other = draw(seed, flow);
            let alike = other.iter().zip(&first).filter(|(one, other)| one.is_none() == other.is_none()).count();
            assert!((4_500..5_500).contains(&alike), "{what}: {alike} of {COUNT} fare alike");
        }
    }
}
