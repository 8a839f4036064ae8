//! New configurations in a living VM.

use mcwan_wasm_tests::{Callback, Cause, Host, LogLevel, Request, Update};
use serde_json::{Value, json};

use super::config::{HIGH, LOW, always, config, host, import, load, payment, prefix, rule, to, with};
use super::outcome::FilterOutcome::Passed;
use super::outcome::{get, play, refused, steered};

fn accept(host: &mut Host, config: &Value) {
    match host.update(config.to_string()) {
        Ok(Update::Accepted(_)) => {}
        other => panic!("want it accepted: {other:?}"),
    }
}

#[test]
fn a_new_configuration_replaces_the_old_one_whole() {
    let mut host = host([payment(), import("ledger", [always(to(0))])]);
    accept(&mut host, &config([import("payment", [rule([prefix("/stats")], [to(0)])])]));
    assert_eq!(get(&mut host, "payment", "/stats"), steered(HIGH));
    assert_eq!(get(&mut host, "payment", "/payment"), refused(403, "NoRuleMatched"));
    assert_eq!(get(&mut host, "ledger", "/"), Passed);
}

#[test]
fn a_bad_configuration_leaves_the_old_one_in_force_and_says_why_once() {
    let mut host = host([payment()]);
    let good = config([import("payment", [always(to(1))])]);
    for bad in [String::new(), "{".to_owned(), with(good.clone(), "version", json!(2)).to_string()] {
        let Ok(Update::Rejected(failure)) = host.update(&bad) else { panic!("want it rejected: {bad}") };
        assert!(matches!((failure.callback, failure.cause), (Callback::Configure, Cause::Refused)), "{bad}");
        let [line] = failure.trace.log.as_slice() else { panic!("want one line: {:?}", failure.trace.log) };
        assert_eq!(line.level, LogLevel::Error, "{bad}");
        assert_eq!(get(&mut host, "payment", "/payment"), steered(HIGH), "{bad}");
        assert_eq!(get(&mut host, "payment", "/else"), refused(403, "NoRuleMatched"), "{bad}");
    }
    accept(&mut host, &good);
    assert_eq!(get(&mut host, "payment", "/payment"), steered(LOW));
}

#[test]
fn no_request_ever_goes_on_unsteered() {
    let mut host = host([payment()]);
    for round in 0..20 {
        let target = round % 2;
        let update = config([import("payment", [rule([prefix("/payment")], [to(target)])])]).to_string();
        let update = if round % 5 == 4 { &update[..update.len() - 1] } else { &update };
        let accepted = matches!(host.update(update).expect("no failure"), Update::Accepted(_));
        assert_eq!(accepted, round % 5 != 4);
        let request = Request::get("payment", "/payment").header("x-mcwan-target", "forged");
        let effects = play(&mut host, &request);
        let steering: Vec<_> = effects.headers.get_all("x-mcwan-target").collect();
        assert!(steering == [HIGH.as_bytes()] || steering == [LOW.as_bytes()], "{effects:?}");
    }
}

#[test]
fn updates_do_not_leak() {
    let imports = (0..500).map(|n| {
        let rules = ["/a", "/b", "/c"].map(|path| rule([prefix(path)], [to(0)]));
        import(&format!("service-{n}"), rules)
    });
    let config = config(imports);
    let mut host = load(&config);
    let mut size_after = |updates: usize| {
        for _ in 0..updates {
            accept(&mut host, &config);
        }
        host.memory_size()
    };
    let (tenth, last) = (size_after(10), size_after(100));
    assert_eq!(last, tenth, "bytes after a hundred more updates, and after the tenth");
}

#[test]
fn requests_do_not_leak() {
    let mut host = host([payment()]);
    let mut size_after = |requests: usize| {
        for number in 0..requests {
            let request = Request::get("payment", format!("/payment/{number}")).header("x-a", "1".repeat(1_000));
            play(&mut host, &request);
        }
        host.memory_size()
    };
    assert_eq!(size_after(100), size_after(5_000));
}
