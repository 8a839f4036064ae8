//! How the configurations of a filter are told apart.

use std::slice;

use mcwan_core::emit::object::Kind;
use mcwan_core::observed::{Digest, Owner};
use serde_json::json;

use super::Play;

/// Gateways may have been told of both.
#[test]
fn what_is_written_over_another_leaders_filter_has_none_of_its_revisions() {
    let mut play = Play::of_payment();
    play.pass(60);
    let filter = play.objects.keys().find(|id| id.kind == Kind::WasmPlugin).expect("a filter").clone();
    let live = play.live(&filter);
    let theirs = (live.revision.expect("a revision") ^ 1) + (7 << 32);
    (live.owner, live.revision) = (Owner::Ours(Digest::of_desired(&json!({}))), Some(theirs));
    play.written.clear();
    play.tell(&filter);
    play.pass(60);
    assert_eq!(play.written, slice::from_ref(&filter), "it is put right once");
    let own = play.live(&filter).revision;
    assert!(own > Some(theirs), "{own:?} after {theirs}");
}
