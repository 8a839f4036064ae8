//! When a path gets better.

use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Judgement, Level, Moment, Promise, Standing};

use super::{INTERVAL, Probed, mk_path, mk_promise, mk_usual, promising_loss};

/// A path that is out because of latency.
fn mk_slow() -> Probed {
    mk_usual().answers(10, 100)
}

#[test]
fn worse_at_once() {
    let mut path = mk_usual().missed(2);
    let change = path.judge.step(path.now + INTERVAL, Event::Missed).expect("a move");
    assert_eq!((change.from, change.to), (Judgement::InSla, Judgement::NoAnswer), "from in");
    let path = mk_slow().missed(3);
    assert_eq!(path.level(), Level::Down, "from out");
}

#[test]
fn better_when_for_the_hold_time_no_judgement_was_as_bad() {
    // The fifth brings the median down.
    let path = mk_slow().answers(4, 20).sound_for(9);
    assert_eq!(path.level(), Level::Out, "not before");
    assert_eq!(path.sound_for(1).level(), Level::In, "then");
    let path = mk_slow().sound_for(8).answers(6, 100).sound_for(10);
    assert_eq!(path.level(), Level::Out, "nor after less than that since the last");
    assert_eq!(path.sound_for(2).level(), Level::In, "but then");
}

#[test]
fn and_ten_answers() {
    let mut path = mk_slow().answers(4, 20);
    let mut seldom = |answers: usize| {
        for _ in 0..answers {
            path.now = path.now + Duration::from_secs(3);
            path.judge.step(path.now, Event::Answered(Duration::from_millis(20)));
        }
        path.level()
    };
    assert_eq!(seldom(9), Level::Out, "27 s, and nine answers");
    assert_eq!(seldom(1), Level::In, "and ten");
}

#[test]
fn to_the_worst_that_there_was() {
    let path = mk_usual().missed(3).answers(30, 100).answers(19, 100);
    assert_eq!(path.level(), Level::Down, "for the hold");
    let path = path.answers(2, 100);
    assert_eq!(path.judgement(), Judgement::Latency, "no longer down, but out");
    assert_eq!(path.sound_for(12).level(), Level::In, "and then in");
    let path = mk_usual().missed(3).sound_for(10).answers(1, 20);
    assert_eq!(path.judgement(), Judgement::InSla, "in, where it never was out");
    let lossy = (0..12).fold(mk_usual().missed(3), |path, _| path.answers(1, 320).answers(4, 20));
    assert_eq!(lossy.judgement(), Judgement::Loss, "out, where more was lost than is allowed");
}

#[test]
fn in_needs_all_of_them_below_ninety_percent() {
    let jitter = Promise { jitter: Some(Duration::from_millis(10)), ..Promise::default() };
    let swings =
        |path: Probed, count: usize, by: u64| (0..count).fold(path, |path, _| path.answers(1, 20).answers(1, 20 + by));
    for (message, path, level) in [
        ("latency of 92 %", mk_slow().answers_for(60, 46), Level::Out),
        ("latency of 90 %", mk_slow().answers_for(60, 45), Level::In),
        ("jitter of 100 %", swings(swings(mk_path(jitter), 30, 100), 150, 10), Level::Out),
        ("jitter of 90 %", swings(swings(mk_path(jitter), 30, 100), 150, 9), Level::In),
    ] {
        assert_eq!(path.level(), level, "{message}");
    }
}

#[test]
fn and_below_ninety_percent_of_the_allowed_loss_over_that_time() {
    // 4 % of the probes may be lost: of 50 one is less than 90 % of that, two are more.
    let mk_lossy = || mk_path(promising_loss(20_000)).answers(10, 100).sound_for(2);
    for (message, path, level) in [
        ("one", mk_lossy().sound_for(3).late(1).sound_for(7), Level::In),
        ("two", mk_lossy().sound_for(3).late(2).sound_for(7), Level::Out),
        ("two, of which the first is longer ago", mk_lossy().sound_for(3).late(2).sound_for(10), Level::In),
    ] {
        assert_eq!(path.level(), level, "{message}");
    }
}

#[test]
fn what_was_lost_before_a_fall_or_in_an_outage_counts_no_more() {
    let mut lost = mk_usual().late(6);
    assert_eq!(lost.judgement(), Judgement::Loss, "out for loss");
    lost.until_in();
    assert_eq!(lost.late(5).level(), Level::In, "five more are five");
    let mut lossy = mk_usual().answers(10, 100).late(200);
    lossy.until_in();
    assert_eq!(lossy.late(5).level(), Level::In, "nor what was lost while it was out");
    let mut down = mk_usual().missed(100);
    down.until_in();
    let down = down.late(5);
    assert_eq!(down.level(), Level::In, "nor what was missed while it was down");
    assert_eq!(down.late(1).judgement(), Judgement::Loss, "but what came after does");
}

/// A path that falls again so long after it got better, so often; the holds, in seconds.
fn holds(falls: usize, sound: u64) -> Vec<u64> {
    let mut path = mk_usual();
    let mut holds = Vec::new();
    for _ in 0..falls {
        path = path.answers(10, 100);
        holds.push(path.hold());
        path.until_in();
        path = path.sound_for(sound);
    }
    holds
}

#[test]
fn ten_seconds_doubled_by_each_fall_within_five_minutes_at_most_three_hundred() {
    for (message, sound, expected) in [
        ("at once", 0, [10, 20, 40, 80, 160, 300, 300]),
        ("within five minutes", 297, [10, 20, 40, 80, 160, 300, 300]),
        ("later", 301, [10; 7]),
    ] {
        assert_eq!(holds(7, sound), expected, "{message}");
    }
}

#[test]
fn a_doubled_hold_stays_until_a_path_was_in_for_twenty_minutes() {
    for (message, sound, expected) in [("less", 1_190, 40), ("more", 1_201, 10)] {
        let mut path = mk_usual();
        for _ in 0..3 {
            path = path.answers(10, 100);
            path.until_in();
        }
        let path = path.sound_for(sound).answers(10, 100);
        assert_eq!(path.hold(), expected, "{message}");
    }
}

#[test]
fn a_path_that_only_gets_less_bad_is_held_longer_as_well() {
    let mut path = mk_usual();
    let mut holds = Vec::new();
    for _ in 0..4 {
        path = path.missed(3);
        holds.push(path.hold());
        while path.level() == Level::Down {
            path = path.answers(1, 100);
        }
    }
    assert_eq!(holds, [10, 20, 40, 80], "from down to out and back");
    let path = mk_slow().missed(3);
    assert_eq!(path.hold(), 10, "but not twice by one fall");
}

#[test]
fn after_down_at_least_as_long_as_that_was_at_most_two_minutes() {
    for (message, missed, expected) in [("short", 20, 10), ("40 s", 200, 40), ("ten minutes", 3_000, 120)] {
        let mut path = mk_usual().missed(missed);
        let seconds = path.until_in();
        assert!((expected..=expected + 1).contains(&seconds), "{message}: {seconds} s");
    }
    let path = mk_usual().missed(200);
    let judge = Judge::taking_over(mk_promise(), INTERVAL, path.now, path.judge.standing());
    let seconds = Probed { judge, now: path.now }.until_in();
    assert!((39..=41).contains(&seconds), "whoever probes then: {seconds} s");
    let mut path = mk_usual().missed(200);
    path.until_in();
    assert_eq!(path.missed(3).hold(), 20, "the next one is the doubled one");
}

#[test]
fn a_new_holder_keeps_the_level() {
    let path = mk_slow().answers(3, 100);
    let standing = path.judge.standing();
    let taken = Probed { judge: Judge::taking_over(mk_promise(), INTERVAL, path.now, standing), now: path.now };
    assert_eq!(taken.judge.standing(), standing, "as it was told");
    let taken = taken.sound_for(9);
    assert_eq!(taken.level(), Level::Out, "better only after the hold");
    assert_eq!(taken.sound_for(2).level(), Level::In, "then");
    let sound = Standing { judgement: Judgement::InSla, since: Moment::START, hold: Duration::from_secs(10) };
    let taken = Judge::taking_over(mk_promise(), INTERVAL, path.now, sound);
    assert_eq!(taken.level(), Level::In, "in stays in");
}
