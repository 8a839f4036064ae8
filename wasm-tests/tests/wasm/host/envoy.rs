//! Several VMs: what they share, and the answers to what they send.

use std::time::Duration;

use mcwan_wasm_tests::{Callback, Cause, Envoy, Headers, Host, HostCall, LogLine, Module, RootId, Status, Trace};

use super::guest::module;

/// The key `k` is at 16.
const KEY: &str = r#"(data (i32.const 16) "kab")"#;
/// Gives the value and the number of its writing to 0, 4 and 8.
const GET: &str = "(call $get_shared_data (i32.const 16) (i32.const 1) (i32.const 0) (i32.const 4) (i32.const 8))";
/// Logs at a level that is a status.
fn tell(status: &str) -> String {
    format!("(drop (call $log {status} (i32.load (i32.const 0)) (i32.load (i32.const 4))))")
}

fn on_tick(more: &str, work: &str) -> Module {
    module(&format!(r#"{more} (func (export "proxy_on_tick") (param i32) {work})"#))
}

fn envoy<const N: usize>(module: &Module) -> (Envoy, [RootId; N]) {
    let mut envoy = Host::builder(module).envoy();
    let roots = [(); N].map(|()| envoy.start(module, "").expect("it starts"));
    (envoy, roots)
}

fn tick(envoy: &mut Envoy, root: RootId) -> Trace {
    envoy.tick(root).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn texts(trace: &Trace) -> Vec<&str> {
    trace.log.iter().map(|LogLine { text, .. }| text.as_str()).collect()
}

#[test]
fn what_one_vm_writes_all_read_and_it_outlives_the_vm() {
    // Logs what is there, and writes `a`.
    let set = "(call $set_shared_data (i32.const 16) (i32.const 1) (i32.const 17) (i32.const 1) (i32.const 0))";
    let module = on_tick(KEY, &format!("(if (i32.eqz {GET}) (then {})) (drop {set})", tell("(i32.const 2)")));
    let (mut envoy, [first, second]) = envoy(&module);
    assert_eq!(texts(&tick(&mut envoy, first)), [""; 0], "there is nothing");
    assert_eq!(texts(&tick(&mut envoy, second)), ["a"]);
    envoy.kill(first.vm);
    assert_eq!(texts(&tick(&mut envoy, second)), ["a"]);
    envoy.shared_data().set("k", "own");
    assert_eq!(texts(&tick(&mut envoy, second)), ["own"]);
    assert_eq!(envoy.shared_data().iter().collect::<Vec<_>>(), [(&b"k"[..], &b"a"[..])]);
    assert!(matches!(envoy.tick(first).expect_err("it is gone").cause, Cause::Unusable));
}

#[test]
fn who_writes_by_compare_and_set_must_have_read_the_last_writing() {
    // Reads where 24 has a zero, and writes by what it has read.
    let read = format!(
        "(if (i32.eqz (i32.load (i32.const 24))) (then (drop {GET}) (i32.store (i32.const 24) (i32.const 1))))"
    );
    let set =
        "(call $set_shared_data (i32.const 16) (i32.const 1) (i32.const 17) (i32.const 2) (i32.load (i32.const 8)))";
    let say = "(if (i32.ne (global.get $s) (i32.const 0)) (then (drop (call $log (i32.const 2) (i32.const 16) (i32.const 1)))))";
    let module =
        on_tick(&format!("{KEY} (global $s (mut i32) (i32.const 0))"), &format!("{read} (global.set $s {set}) {say}"));
    let (mut envoy, [first, second]) = envoy(&module);
    envoy.shared_data().set("k", "v");
    assert_eq!(texts(&tick(&mut envoy, first)), [""; 0]);
    assert_eq!(envoy.shared_data().get("k"), Some(&b"ab"[..]));
    assert_eq!(texts(&tick(&mut envoy, second)), [""; 0], "it reads only now");
    assert_eq!(texts(&tick(&mut envoy, first)), ["k"], "the other has written since");
    envoy.shared_data().remove("k");
    assert_eq!(texts(&tick(&mut envoy, first)), [""; 0], "what is not there is made");
}

/// Sends what is at 32 through the cluster `c`, and logs `s` where it is not sent; logs the status of an answer.
fn caller() -> Module {
    let headers = r#"(data (i32.const 32) "\03\00\00\00\05\00\00\00\01\00\00\00\07\00\00\00\03\00\00\00\0a\00\00\00\01\00\00\00:path\00/\00:method\00GET\00:authority\00h\00")"#;
    let call = "(call $http_call (i32.const 128) (i32.const 1) (i32.const 32) (i32.const 65) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 500) (i32.const 0))";
    let get = "(call $get_header (i32.const 6) (i32.const 130) (i32.const 7) (i32.const 0) (i32.const 4))";
    module(&format!(
        r#"{headers} (data (i32.const 128) "cs:status")
        (func (export "proxy_on_tick") (param i32)
            (if {call} (then (drop (call $log (i32.const 2) (i32.const 129) (i32.const 1))))))
        (func (export "proxy_on_http_call_response") (param i32 i32 i32 i32 i32)
            (if (i32.eqz {get}) (then {})))"#,
        tell("(i32.const 2)")
    ))
}

#[test]
fn a_callout_waits_until_it_is_answered() {
    let (mut envoy, [root]) = envoy(&caller());
    assert_eq!(texts(&tick(&mut envoy, root)), [""; 0]);
    let callouts = envoy.callouts(root.vm).to_vec();
    let [callout] = callouts.as_slice() else { panic!("{callouts:?}") };
    assert_eq!((callout.cluster.as_str(), callout.timeout), ("c", Duration::from_millis(500)));
    assert_eq!((callout.sent, callout.headers.get(":authority")), (envoy.monotonic(), Some(&b"h"[..])));
    assert_eq!(envoy.root_of(root.vm, callout), root);

    let answer: Headers = [(":status", "404")].into_iter().collect();
    let told = envoy.answer(root, callout.token, answer).expect("no failure");
    assert_eq!((texts(&told), told.callbacks[0].callback), (vec!["404"], Callback::HttpCallResponse));
    assert!(envoy.callouts(root.vm).is_empty());
    let cut = envoy.answer(root, 77, Headers::default()).expect("no failure");
    assert_eq!((texts(&cut), cut.count(HostCall::GetHeaderMapValue)), (vec![], 1));
}

#[test]
fn nothing_is_sent_through_a_cluster_that_is_not_there() {
    let (mut envoy, [root]) = envoy(&caller());
    envoy.set_cluster("c", false);
    assert_eq!(texts(&tick(&mut envoy, root)), ["s"]);
    assert!(envoy.callouts(root.vm).is_empty());
    envoy.set_cluster("c", true);
    assert_eq!(texts(&tick(&mut envoy, root)), [""; 0]);
}

#[test]
fn nobody_is_told_of_answers_to_a_root_context_that_is_gone() {
    let (mut envoy, [old]) = envoy(&caller());
    let new = envoy.configure(old.vm, "").expect("it takes it");
    tick(&mut envoy, old);
    tick(&mut envoy, new);
    assert_eq!(envoy.callouts(old.vm).len(), 2);
    envoy.close(old).expect("no failure");
    let left: Vec<_> = envoy.callouts(new.vm).to_vec();
    assert_eq!(left.iter().map(|callout| envoy.root_of(new.vm, callout)).collect::<Vec<_>>(), [new]);
}

#[test]
fn a_missing_value_says_so() {
    let status = format!(
        "(if (i32.eq {GET} (i32.const {})) (then (drop (call $log (i32.const 2) (i32.const 16) (i32.const 1)))))",
        Status::NotFound.code()
    );
    let (mut envoy, [root]) = envoy(&on_tick(KEY, &status));
    assert_eq!(texts(&tick(&mut envoy, root)), ["k"]);
}
