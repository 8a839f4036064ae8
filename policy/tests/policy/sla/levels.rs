//! What puts a path on which level.

use std::time::Duration;

use mcwan_policy::sla::{Event, Judgement, Level, Promise};

use super::{Probed, mk_path, mk_promise, mk_unknown, mk_usual, promising_loss};

#[track_caller]
fn check(rows: impl IntoIterator<Item = (&'static str, Probed, Judgement)>) {
    for (message, path, judgement) in rows {
        assert_eq!(path.judgement(), judgement, "{message}");
        assert_eq!(path.level(), judgement.level(), "{message}");
    }
}

#[test]
fn down_the_last_three_probes_missed() {
    check([
        ("two missed", mk_usual().missed(2), Judgement::InSla),
        ("two and two, with an answer between", mk_usual().missed(2).answers(1, 20).missed(2), Judgement::InSla),
        ("three missed", mk_usual().missed(3), Judgement::NoAnswer),
        ("of a path that has never answered", mk_unknown(mk_promise()).missed(3), Judgement::NoAnswer),
        ("where nothing is promised", mk_path(Promise::default()).missed(3), Judgement::NoAnswer),
    ]);
}

#[test]
fn out_the_median_of_the_last_ten_answers_is_above_its_bound() {
    let promise = Promise { latency: Some(Duration::from_millis(50)), ..Promise::default() };
    check([
        ("at the bound", mk_path(promise).answers(10, 50), Judgement::InSla),
        ("five of ten above", mk_path(promise).answers(5, 51), Judgement::InSla),
        ("six of ten above", mk_path(promise).answers(6, 51), Judgement::Latency),
        ("not promised", mk_path(Promise { latency: None, ..promise }).answers(10, 5_000), Judgement::InSla),
    ]);
}

#[test]
fn out_the_mean_difference_of_neighbours_is_above_its_bound() {
    let promise = Promise { jitter: Some(Duration::from_millis(10)), ..Promise::default() };
    let swings =
        |path: Probed, count: usize, by: u64| (0..count).fold(path, |path, _| path.answers(1, 20).answers(1, 20 + by));
    check([
        ("at the bound", swings(mk_path(promise), 30, 10), Judgement::InSla),
        ("above it", swings(mk_path(promise), 30, 11), Judgement::Jitter),
        ("above it, not for long", swings(mk_path(promise), 8, 15), Judgement::InSla),
        ("far above it, not for long", swings(mk_path(promise), 2, 100), Judgement::Jitter),
        ("not promised", swings(mk_path(Promise::default()), 30, 100), Judgement::InSla),
    ]);
}

#[test]
fn late_answers_are_left_out_of_jitter() {
    let promise = Promise { jitter: Some(Duration::from_millis(10)), ..Promise::default() };
    check([
        (
            "150 ms later than the median is not late",
            mk_path(promise).answers(1, 170).answers(1, 20),
            Judgement::Jitter,
        ),
        ("more is", mk_path(promise).answers(1, 171).answers(1, 20), Judgement::InSla),
        ("again and again", mk_path(promise).late(30), Judgement::InSla),
        ("nor is it known at first", mk_unknown(promise).answers(1, 500).answers(10, 20), Judgement::InSla),
    ]);
}

#[test]
fn a_longer_way_loses_nothing() {
    let promising = |parts| Promise { latency: None, jitter: None, ..promising_loss(parts) };
    check([
        (
            "0.5 %, and every packet takes longer from now on",
            mk_path(promising(5_000)).answers(30, 260),
            Judgement::InSla,
        ),
        ("0.01 %", mk_path(promising(100)).answers(30, 260), Judgement::InSla),
        ("and it gets shorter again", mk_path(promising(5_000)).answers(30, 260).answers(30, 20), Judgement::InSla),
    ]);
}

#[test]
fn out_more_are_lost_than_one_window_in_ten_thousand_shows() {
    // One lost in so many, so often.
    let spread = |parts: u32, lost: usize, each: usize| {
        (0..lost).fold(mk_path(promising_loss(parts)), |path, _| path.answers(1, 320).answers(each - 1, 20))
    };
    check([
        ("0.5 %: 5 of 50", spread(5_000, 5, 8), Judgement::InSla),
        ("0.5 %: 6 of 50", spread(5_000, 6, 8), Judgement::Loss),
        ("0.5 %: 15 of 500", spread(5_000, 15, 31), Judgement::InSla),
        ("0.5 %: 16 of 500", spread(5_000, 16, 31), Judgement::Loss),
        ("0.5 %: 16 of more than 500", spread(5_000, 16, 34), Judgement::InSla),
        ("2 %: 9 of 50", spread(20_000, 9, 5), Judgement::InSla),
        ("2 %: 10 of 50", spread(20_000, 10, 5), Judgement::Loss),
        ("not promised", mk_path(Promise { loss: None, ..mk_promise() }).late(100), Judgement::InSla),
    ]);
}

#[test]
fn never_fewer_than_three_are_too_many() {
    check([
        ("two", mk_path(promising_loss(1)).late(2), Judgement::InSla),
        ("three", mk_path(promising_loss(1)).late(3), Judgement::Loss),
    ]);
}

#[test]
fn lost_is_unanswered_or_later_than_the_median_and_150_ms() {
    let promise = Promise { loss: mk_promise().loss, ..Promise::default() };
    let six = |event: Event| (0..6).fold(mk_path(promise), |path, _| path.all(1, event).answers(4, 20));
    let answered = |round_trip| Event::Answered(Duration::from_millis(round_trip));
    check([
        ("unanswered", six(Event::Missed), Judgement::Loss),
        ("late", six(answered(171)), Judgement::Loss),
        ("in time", six(answered(170)), Judgement::InSla),
    ]);
}

#[test]
fn of_a_bound_of_nothing_any_excess_is_out() {
    let none = Some(Duration::ZERO);
    let (latency, jitter) =
        (Promise { latency: none, ..Promise::default() }, Promise { jitter: none, ..Promise::default() });
    check([
        ("one lost", mk_path(promising_loss(0)).late(1), Judgement::Loss),
        ("none lost", mk_path(promising_loss(0)), Judgement::InSla),
        ("any latency", mk_path(latency), Judgement::Latency),
        ("any jitter", mk_path(jitter).answers(1, 21), Judgement::Jitter),
        ("no jitter", mk_path(jitter), Judgement::InSla),
    ]);
    let mut path = mk_path(promising_loss(0)).late(1);
    assert_eq!(path.until_in(), 10, "and it is in again after a hold without");
}

#[test]
fn in_with_fewer_than_ten_answers() {
    check([
        ("none", mk_unknown(mk_promise()), Judgement::FewAnswers),
        ("nine that are too late", mk_unknown(mk_promise()).answers(9, 200), Judgement::FewAnswers),
        ("ten", mk_unknown(mk_promise()).answers(10, 200), Judgement::Latency),
        ("ten that are in time", mk_unknown(mk_promise()).answers(10, 20), Judgement::InSla),
    ]);
}

#[test]
fn in_if_none_can_be_sent() {
    check([
        ("two", mk_usual().unsent(2), Judgement::InSla),
        ("three", mk_usual().unsent(3), Judgement::ProbeFailed),
        ("of a path that has never been probed", mk_unknown(mk_promise()).unsent(3), Judgement::ProbeFailed),
        ("sent again: nothing is known", mk_usual().unsent(3).answers(9, 200), Judgement::FewAnswers),
        ("missed again", mk_usual().missed(2).unsent(3).missed(2), Judgement::FewAnswers),
    ]);
    for (message, path) in [("out", mk_usual().answers(10, 100)), ("down", mk_usual().missed(3))] {
        let level = path.level();
        let path = path.unsent(48);
        assert_eq!(path.level(), level, "{message}: left only after the hold");
        let path = path.unsent(5);
        assert_eq!(path.judgement(), Judgement::ProbeFailed, "{message}: unknown is neither");
    }
}

#[test]
fn what_the_prober_was_too_late_for_says_nothing() {
    let voided = mk_usual().missed(2).all(100, Event::Voided);
    assert_eq!(voided.level(), Level::In, "they are not missed");
    assert_eq!(voided.missed(1).level(), Level::Down, "nor answered");
}

#[test]
fn what_is_measured_is_told() {
    let figures = mk_usual().judge.figures();
    assert_eq!(figures.latency, Some(Duration::from_millis(20)), "latency");
    assert_eq!(figures.jitter, Some(Duration::ZERO), "jitter");
    assert_eq!((figures.loss.parts_per_million(), figures.probes), (0, 500), "loss");
    let path = mk_usual().late(2).missed(3);
    let figures = path.judge.figures();
    assert_eq!((figures.loss.parts_per_million(), figures.measured), (5_013, Some(path.now)), "1 % of the probes");
    let unknown = mk_unknown(mk_promise()).judge.figures();
    assert_eq!((unknown.latency, unknown.jitter, unknown.probes, unknown.measured), (None, None, 0, None), "nothing");
}
