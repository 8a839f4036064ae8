//! Whatever is in shared data, whatever the clock says, whatever host calls answer: nothing traps.

use std::time::Duration;

use mcwan_policy::sla::{ConfigAge, Judgement, Lease, Moment, PathId, RECORD_KEY, Record, Standing, VmId};
use mcwan_wasm_tests::{Envoy, Fault, Headers, Host, HostCall, Request, RootId, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use super::super::config::release;
use super::world::{measuring, path};

/// What the module calls, but for what it needs to read a configuration.
const CALLS: [HostCall; 13] = [
    HostCall::CallForeignFunction,
    HostCall::DefineMetric,
    HostCall::GetHeaderMapValue,
    HostCall::GetSharedData,
    HostCall::HttpCall,
    HostCall::IncrementMetric,
    HostCall::Log,
    HostCall::RecordMetric,
    HostCall::RemoveHeaderMapValue,
    HostCall::ReplaceHeaderMapValue,
    HostCall::SendLocalResponse,
    HostCall::SetSharedData,
    HostCall::SetTickPeriodMilliseconds,
];

#[derive(Clone, Debug)]
enum Act {
    Tick(Index),
    /// To what was sent; else to anything.
    Answer(Index, Option<Index>, u32, Headers),
    Clock(Duration),
    Share(Option<Vec<u8>>),
    Fault(HostCall, Option<usize>, Status),
    NoFaults,
    Configure(Index, u64, usize),
    Start(u64),
    Close(Index),
    Request(Index),
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        5 => (0..20_000_u64).prop_map(|later| Duration::from_hours(1) + Duration::from_millis(later)),
        1 => any::<u64>().prop_map(Duration::from_nanos),
        // Which the host has no answer for.
        1 => Just(Duration::MAX),
    ]
}

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![time().prop_map(Moment::after_start), Just(Moment::after_start(Duration::from_micros(u64::MAX)))]
}

fn standing() -> impl Strategy<Value = (PathId, Standing)> {
    let judgement = select(vec![Judgement::InSla, Judgement::ProbeFailed, Judgement::Jitter, Judgement::NoAnswer]);
    let id = select(vec!["high", "low", "third"]).prop_map(|tier| PathId::new(tier, "cluster1", "secure"));
    (id, judgement, moment(), 0..600_000_u64)
        .prop_map(|(id, judgement, since, hold)| (id, Standing { judgement, since, hold: Duration::from_millis(hold) }))
}

fn shared() -> impl Strategy<Value = Vec<u8>> {
    let lease = (any::<u128>(), any::<u64>(), moment(), moment(), 0..600_000_u64).prop_map(
        |(holder, revision, since, renewed, period)| Lease {
            holder: VmId(holder),
            config: ConfigAge { revision, since },
            renewed,
            period: Duration::from_millis(period),
        },
    );
    let record = (lease, vec(standing(), 0..5)).prop_map(|(lease, standings)| Record { lease, standings }.to_bytes());
    let changed = (record, proptest::option::of((any::<Index>(), any::<u8>())), any::<Index>(), any::<bool>());
    let changed = changed.prop_map(|(mut bytes, change, end, is_cut)| {
        if let Some((place, byte)) = change {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        bytes
    });
    prop_oneof![1 => vec(any::<u8>(), 0..100), 4 => changed]
}

fn answer() -> impl Strategy<Value = Headers> {
    let status = prop_oneof![
        select(vec!["404", "503", "504", "200", "", "99999999999", "-1", "4 4"])
            .prop_map(|text| text.as_bytes().to_vec()),
        vec(any::<u8>(), 0..5)
    ];
    vec((select(vec![":status", "x"]), status), 0..3).prop_map(|lines| lines.into_iter().collect())
}

fn act() -> impl Strategy<Value = Act> {
    let index = any::<Index>;
    let fault = (select(CALLS.to_vec()), proptest::option::of(1..5_usize), select(Status::ERRORS.to_vec()));
    prop_oneof![
        12 => index().prop_map(Act::Tick),
        6 => (index(), proptest::option::weighted(0.8, index()), any::<u32>(), answer())
            .prop_map(|(root, sent, token, headers)| Act::Answer(root, sent, token, headers)),
        6 => time().prop_map(Act::Clock),
        2 => proptest::option::weighted(0.9, shared()).prop_map(Act::Share),
        3 => fault.prop_map(|(call, nth, status)| Act::Fault(call, nth, status)),
        2 => Just(Act::NoFaults),
        1 => (index(), 0..3_u64, 0..4_usize).prop_map(|(root, revision, paths)| Act::Configure(root, revision, paths)),
        1 => (0..3_u64).prop_map(Act::Start),
        1 => index().prop_map(Act::Close),
        2 => index().prop_map(Act::Request),
    ]
}

fn config(revision: u64, paths: usize) -> Value {
    measuring(revision, ["high", "low", "third"].into_iter().take(paths).map(|tier| path(tier, 200)))
}

fn play(envoy: &mut Envoy, roots: &mut Vec<RootId>, act: Act) {
    let at = |roots: &[RootId], index: Index| roots[index.index(roots.len())];
    let done = match act {
        Act::Tick(root) => envoy.tick(at(roots, root)).map(drop),
        Act::Answer(root, sent, token, headers) => {
            let root = at(roots, root);
            let callouts = envoy.callouts(root.vm);
            let callout = sent.filter(|_| !callouts.is_empty()).map(|sent| sent.get(callouts).clone());
            match callout {
                Some(callout) => envoy.answer(envoy.root_of(root.vm, &callout), callout.token, headers).map(drop),
                None => envoy.answer(root, token, headers).map(drop),
            }
        }
        Act::Clock(now) => {
            envoy.set_monotonic(now);
            Ok(())
        }
        Act::Share(value) => {
            match value {
                Some(value) => envoy.shared_data().set(RECORD_KEY, value),
                None => envoy.shared_data().remove(RECORD_KEY),
            }
            Ok(())
        }
        Act::Fault(call, nth, status) => {
            envoy.inject(nth.map_or(Fault::always(call, status), |nth| Fault::nth(call, nth, status)));
            Ok(())
        }
        Act::NoFaults => {
            envoy.clear_faults();
            Ok(())
        }
        Act::Configure(root, revision, paths) => {
            envoy.configure(at(roots, root).vm, config(revision, paths).to_string()).map(|root| roots.push(root))
        }
        Act::Start(revision) => envoy.start(&release(), config(revision, 3).to_string()).map(|root| roots.push(root)),
        Act::Close(root) if roots.len() > 1 => {
            let root = roots.remove(root.index(roots.len()));
            envoy.close(root).map(drop)
        }
        Act::Close(_) => Ok(()),
        Act::Request(root) => envoy.request(at(roots, root), &Request::get("payment", "/payment")).map(drop),
    };
    done.unwrap_or_else(|failure| panic!("{failure:?}"));
}

proptest! {
    #[test]
    fn nothing_traps(acts in vec(act(), 1..60)) {
        let mut envoy = Host::builder(&release()).envoy();
        let start = |envoy: &mut Envoy| envoy.start(&release(), config(1, 2).to_string()).expect("it starts");
        let mut roots = vec![start(&mut envoy), start(&mut envoy)];
        for act in acts {
            play(&mut envoy, &mut roots, act);
        }
        // And it goes on: whatever was shared, somebody takes the lease and is read.
        envoy.clear_faults();
        envoy.shared_data().remove(RECORD_KEY);
        envoy.set_monotonic(Duration::from_hours(10));
        let last = start(&mut envoy);
        envoy.tick(last).expect("no failure");
        envoy.tick(last).expect("no failure");
        prop_assert_eq!(envoy.callouts(last.vm).len(), 2);
    }
}

#[test]
fn every_host_call_can_fail_with_every_status() {
    for call in CALLS {
        for status in Status::ERRORS {
            let mut envoy = Host::builder(&release()).envoy();
            let root = envoy.start(&release(), config(1, 2).to_string()).expect("it starts");
            envoy.inject(Fault::always(call, status));
            for round in 0..6 {
                envoy.set_monotonic(envoy.monotonic() + Duration::from_millis(200));
                envoy.tick(root).unwrap_or_else(|failure| panic!("{call} {status:?}, tick {round}: {failure:?}"));
                for callout in envoy.callouts(root.vm).to_vec() {
                    let headers = [(":status", "404")].into_iter().collect();
                    let told = envoy.answer(root, callout.token, headers);
                    told.unwrap_or_else(|failure| panic!("{call} {status:?}, answer {round}: {failure:?}"));
                }
            }
        }
    }
}
