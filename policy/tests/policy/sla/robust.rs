//! Whatever comes, in any order of times: nothing panics, and moves are what they say.

use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Judgement, Loss, Moment, Promise, Standing};
use proptest::prelude::*;

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0..2_000_u64).prop_map(Duration::from_millis),
        any::<u64>().prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_secs),
    ]
}

fn any_moment() -> impl Strategy<Value = Moment> {
    any_duration().prop_map(Moment::after_start)
}

fn any_promise() -> impl Strategy<Value = Promise> {
    let bound = || prop::option::of(any_duration());
    let loss = prop::option::of((0..=1_000_000_u32).prop_map(|parts| Loss::from_parts_per_million(parts).unwrap()));
    (bound(), bound(), loss).prop_map(|(latency, jitter, loss)| Promise { latency, jitter, loss })
}

fn any_standing() -> impl Strategy<Value = Standing> {
    let judgement = prop::sample::select(vec![
        Judgement::InSla,
        Judgement::FewAnswers,
        Judgement::ProbeFailed,
        Judgement::Latency,
        Judgement::Jitter,
        Judgement::Loss,
        Judgement::NoAnswer,
    ]);
    let standing = (judgement, any_moment(), any_duration());
    standing.prop_map(|(judgement, since, hold)| Standing { judgement, since, hold })
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => any_duration().prop_map(Event::Answered),
        4 => Just(Event::Missed),
        1 => Just(Event::Voided),
        2 => Just(Event::Unsent),
    ]
}

proptest! {
    #[test]
    fn nothing_panics(
        promise in any_promise(),
        interval in any_duration(),
        start in any_moment(),
        standing in any_standing(),
        events in prop::collection::vec((any_moment(), any_event(), 1..40_usize), 0..40),
    ) {
        let mut judge = Judge::taking_over(promise, interval, start, standing);
        for (now, event, times) in events {
            for _ in 0..times {
                let before = judge.level();
                let change = judge.step(now, event);
                prop_assert_eq!(change.is_some(), judge.level() != before);
                if let Some(change) = change {
                    prop_assert_eq!((change.from.level(), change.to.level()), (before, judge.level()));
                    prop_assert_eq!(judge.standing().since, now);
                }
                let figures = judge.figures();
                prop_assert!(figures.probes <= 500);
            }
        }
    }
}
