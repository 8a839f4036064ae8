//! What others add to what mcwan wrote.

use std::slice;

use mcwan_core::emit::object::Kind;

use super::Play;

#[test]
fn what_others_add_is_undone() {
    let mut play = Play::of_payment();
    play.pass(60);
    for id in play.objects.keys().cloned().collect::<Vec<_>>() {
        play.written.clear();
        play.live(&id).has_additions = true;
        play.tell(&id);
        assert_eq!(play.written, slice::from_ref(&id), "it is sent once more, which takes away what is too much");
        play.pass(60);
        assert_eq!(play.written, [id], "once is enough");
    }
}

#[test]
fn one_who_insists_is_asked_ever_less() {
    let mut play = Play::of_payment();
    play.pass(60);
    play.written.clear();
    let gateway = play.objects.keys().find(|id| id.kind == Kind::Gateway).expect("a Gateway").clone();
    for _ in 0..3_600 {
        play.live(&gateway).has_additions = true;
        play.tell(&gateway);
        play.pass(1);
    }
    assert!(play.written.iter().all(|id| *id == gateway), "nothing else is done because of it");
    let writes = play.written.len();
    assert!((10..=20).contains(&writes), "{writes} in an hour: each wait is twice the one before, up to ten minutes");
    play.pass(1_200);
    play.written.clear();
    play.live(&gateway).has_additions = true;
    play.tell(&gateway);
    assert_eq!(play.written.len(), 1, "after a while, it is somebody else");
}
