//! What rules do while tiers are impaired: how soon requests leave them, how many are lost, and how soon they are back.

use std::time::{Duration, Instant};

use anyhow::Result;
use mcwan_testbed::wan::{Impairment, Stream, Streams};

use crate::fifteen::{Fifteen, LOW_PORT, RATE, ports};

/// So many requests in a row that take another tier have left.
const ROW: usize = 20;

/// How long probes are sent before, so that judges know a sound tier, and how long all is watched at most until requests
/// have left, or are back. For losses, so long that the longest window is full.
const WARM: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_mins(1);
const SOON: (Duration, Duration) = (WARM, PATIENCE);
const LATER: (Duration, Duration) = (Duration::from_secs(110), Duration::from_mins(7));

/// How long a hole is, and tiers that flap are bad and sound in turn, for ten minutes.
const HOLE: Duration = Duration::from_secs(10);
const FLAP: Duration = Duration::from_secs(5);
const FLAPS: usize = 60;

/// How long requests are watched once all are back.
const AFTER: Duration = Duration::from_secs(10);

/// What was seen of each tier.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) late: Vec<Move>,
    /// Where it is on both ways, the latency is above its bound, too; on replies alone the median is within it.
    pub(crate) jitter: Vec<Move>,
    pub(crate) jitter_of_replies: Vec<Move>,
    pub(crate) loss_20: Vec<Move>,
    pub(crate) loss_5: Vec<Move>,
    pub(crate) loss_2: Vec<Move>,
    pub(crate) hole: Vec<Move>,
    pub(crate) failback: Vec<Move>,
    /// How often requests moved while the tier was late, or a hole, by turns.
    pub(crate) flap: Vec<usize>,
}

/// Requests that move from a tier to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// The time until the last one was sent that took the one; without end where they did not move.
    pub(crate) last: f64,
    /// The time until the first one was sent since when all take the other.
    pub(crate) first: f64,
    /// How many were not answered well.
    pub(crate) lost: usize,
}

/// Which packets are impaired.
#[derive(Clone, Copy, Debug)]
enum Packets {
    All,
    Replies,
}

/// Impairs the tiers in every way, one after the other.
pub(crate) async fn see() -> Result<Seen> {
    let mut stage = Fifteen::start().await?;
    let (hole, failback) = hole(&stage).await?;
    let milliseconds = Duration::from_millis;
    // Half of it on each way.
    let late = leave(&mut stage, "80 ms more", (Packets::All, Impairment::late(milliseconds(40))), SOON).await?;
    let impairment = Impairment::NONE.with_jitter(milliseconds(40));
    let jitter = leave(&mut stage, "jitter of 40 ms", (Packets::All, impairment), SOON).await?;
    let what = "jitter of 40 ms of replies";
    let jitter_of_replies = leave(&mut stage, what, (Packets::Replies, impairment), SOON).await?;
    let mut loss =
        async |what, percent| leave(&mut stage, what, (Packets::All, Impairment::NONE.with_loss(percent)), LATER).await;
    let loss_20 = loss("20 % loss", 20).await?;
    let loss_5 = loss("5 % loss", 5).await?;
    let loss_2 = loss("2 % loss", 2).await?;
    let flap = flap(&mut stage).await?;
    Ok(Seen { late, jitter, jitter_of_replies, loss_20, loss_5, loss_2, hole, failback, flap })
}

/// Impairs all tiers until requests have left all.
async fn leave(
    stage: &mut Fifteen,
    what: &str,
    (packets, impairment): (Packets, Impairment),
    (warm, patience): (Duration, Duration),
) -> Result<Vec<Move>> {
    stage.forget().await?;
    let mut streams = stage.streams().await?;
    stage.pass(&mut streams, warm).await;
    tell_sound(what, &streams);
    let impair = |impairment| match packets {
        Packets::All => stage.impair(|_| impairment),
        Packets::Replies => stage.impair_replies(impairment),
    };
    let since = impair(impairment);
    stage.watch(&mut streams, patience, |streams| all_have_moved(streams, since, |_| LOW_PORT)).await;
    impair(Impairment::NONE);
    let moves = moves(&streams.stop(&stage.wan).await?, since, |_| LOW_PORT);
    tell(what, &moves);
    Ok(moves)
}

/// Lets nothing pass for a time. Gives how requests leave, and how they come back.
async fn hole(stage: &Fifteen) -> Result<(Vec<Move>, Vec<Move>)> {
    let mut streams = stage.streams().await?;
    stage.pass(&mut streams, WARM).await;
    tell_sound("a hole", &streams);
    let since = stage.impair(|_| Impairment::HOLE);
    stage.pass(&mut streams, HOLE).await;
    let until = stage.impair(|_| Impairment::NONE);
    stage.watch(&mut streams, PATIENCE, |streams| all_have_moved(streams, until, |port| port)).await;
    stage.pass(&mut streams, AFTER).await;
    let streams = streams.stop(&stage.wan).await?;
    let left = moves(&streams, since, |_| LOW_PORT);
    let back = moves(&streams, until, |port| port);
    // What was under way when it began is lost, too.
    let lost =
        |stream: &Stream| stream.lost_since(since.checked_sub(AFTER).unwrap_or(since)) - stream.lost_since(until);
    let left = streams.iter().zip(left).map(|(stream, left)| Move { lost: lost(stream), ..left }).collect::<Vec<_>>();
    tell("a hole", &left);
    tell("a hole that is over", &back);
    Ok((left, back))
}

/// Impairs tiers and lets them be by turns, every other one by a delay and the others by a hole. Gives how often requests
/// moved.
async fn flap(stage: &mut Fifteen) -> Result<Vec<usize>> {
    let impairment =
        |port: u16| if port.is_multiple_of(2) { Impairment::late(Duration::from_millis(40)) } else { Impairment::HOLE };
    stage.forget().await?;
    let mut streams = stage.streams().await?;
    stage.pass(&mut streams, WARM).await;
    let since = Instant::now();
    for _ in 0..FLAPS {
        stage.impair(impairment);
        stage.pass(&mut streams, FLAP).await;
        stage.impair(|_| Impairment::NONE);
        stage.pass(&mut streams, FLAP).await;
    }
    let streams = streams.stop(&stage.wan).await?;
    let counts: Vec<_> = streams.iter().map(|stream| count_moves(stream, since)).collect();
    eprintln!("measured: tiers flap: moves {counts:?}");
    Ok(counts)
}

/// Whether requests of every tier have moved to that which is due; some may have come back.
fn all_have_moved(streams: &Streams, since: Instant, due: impl Fn(u16) -> u16) -> bool {
    moves(streams.streams(), since, due).iter().all(|it| it.last.is_finite())
}

/// How requests moved to the tier that is due.
fn moves(streams: &[Stream], since: Instant, due: impl Fn(u16) -> u16) -> Vec<Move> {
    let time = |sent: Instant| sent.duration_since(since).as_secs_f64();
    let of_stream = |(stream, port): (&Stream, u16)| {
        let over: Vec<_> = stream.since(since).collect();
        let has_moved = |row: &[&mcwan_testbed::wan::Over]| row.iter().all(|over| over.port == Some(due(port)));
        let moved = over.windows(ROW).position(has_moved);
        let (before, first) = match moved {
            Some(at) => (over.get(..at).unwrap_or_default(), over.get(at).map(|over| time(over.sent))),
            None => (&*over, None),
        };
        let last = before.iter().rev().find(|over| over.port != Some(due(port))).map_or(0.0, |over| time(over.sent));
        let infinite = f64::INFINITY;
        Move {
            last: if moved.is_some() { last } else { infinite },
            first: first.unwrap_or(infinite),
            lost: stream.lost_since(since),
        }
    };
    streams.iter().zip(ports()).map(of_stream).collect()
}

/// How often requests take another tier than before, and go on to.
pub(crate) fn count_moves(stream: &Stream, since: Instant) -> usize {
    let ports: Vec<_> = stream.since(since).filter_map(|over| over.port).collect();
    let (mut taken, mut count) = (ports.first().copied(), 0);
    for row in ports.windows(ROW / 2) {
        let first = row.first().copied();
        if first != taken && row.iter().all(|port| Some(*port) == first) {
            taken = first;
            count += 1;
        }
    }
    count
}

/// Says how the machine bears the requests while all is well.
fn tell_sound(what: &str, streams: &Streams) {
    let since = Instant::now().checked_sub(WARM / 2).unwrap_or_else(Instant::now);
    let over = streams.streams().iter().flat_map(|stream| stream.since(since));
    let mut times: Vec<_> = over.map(|over| over.done.duration_since(over.sent)).collect();
    times.sort_unstable();
    let of_hundred = |percent| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    let rate = times.len() / usize::try_from((WARM / 2).as_secs()).unwrap_or(1);
    let [half, most] = [of_hundred(50), of_hundred(99)];
    eprintln!("measured: before {what}: {rate} of {} requests a second, p50 {half:?}, p99 {most:?}", 15 * RATE);
}

fn tell(what: &str, moves: &[Move]) {
    for Move { last, first, lost } in moves {
        eprintln!("measured: {what}: last {last:.2} s, first {first:.2} s, {lost} lost");
    }
}
