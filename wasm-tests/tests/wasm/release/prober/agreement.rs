//! The module chooses by the levels that are shared like the crate that it is made of.

use mcwan_policy::RouteTable;
use mcwan_policy::sla::{ConfigAge, Judgement, Lease, Levels, Moment, PathId, RECORD_KEY, Record, Standing, VmId};
use mcwan_wasm_tests::{Envoy, Host, Request, RootId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::Config;
use serde_json::{Value, json};

use super::super::arbitrary::{Asked, outcome};
use super::super::config::{import, prefix, release, rule, with};
use super::super::outcome::FilterOutcome;
use super::world::{measuring, ms, path};

/// Configurations, and how often the levels of each change: 10^4 in all.
const CONFIGS: u32 = 100;
const CHANGES: usize = 100;

const TIERS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Something to choose from: one source of each candidate has a weight, so that there is nothing to draw.
fn choose() -> impl Strategy<Value = Value> {
    let places: Vec<usize> = (0..TIERS.len()).collect();
    let places = subsequence(places, 1..=TIERS.len()).prop_shuffle();
    let own = proptest::option::weighted(0.3, 0..TIERS.len());
    (places, own, select(vec!["preferred", "refuse"])).prop_map(|(places, own, when_none)| {
        let candidates: Vec<_> = places
            .into_iter()
            .map(|place| match own {
                // This cluster, which has no path.
                Some(own) if own == place => json!({"sources": [{"target": place}]}),
                _ => json!({"sources": [{"target": place, "path": place}]}),
            })
            .collect();
        json!({"choose": {"candidates": candidates, "whenNoneInSla": when_none}})
    })
}

fn config() -> impl Strategy<Value = Value> {
    vec(choose(), 1..6).prop_map(|choices| {
        let rules = choices.into_iter().enumerate().map(|(n, choose)| rule([prefix(&format!("/{n}"))], [choose]));
        let targets: Vec<_> = TIERS.iter().map(|tier| json!({"name": tier, "digest": "d"})).collect();
        let import = with(import("payment", rules), "targets", json!(targets));
        with(measuring(1, TIERS.map(|tier| path(tier, 200))), "imports", json!([import]))
    })
}

fn judgement() -> impl Strategy<Value = Judgement> {
    select(vec![Judgement::InSla, Judgement::ProbeFailed, Judgement::Loss, Judgement::Latency, Judgement::NoAnswer])
}

/// Lets the VM read that another one has judged so.
fn share(envoy: &mut Envoy, root: RootId, judgements: &[Judgement]) {
    envoy.set_monotonic(envoy.monotonic() + ms(200));
    let now = Moment::after_start(envoy.monotonic());
    let config = ConfigAge { revision: 1, since: now };
    let lease = Lease { holder: VmId(1), config, renewed: now, period: ms(200) };
    let standings = TIERS.iter().zip(judgements).map(|(tier, judgement)| {
        let id = PathId::new(tier, "cluster1", "secure");
        (id, Standing { judgement: *judgement, since: now, hold: ms(10_000) })
    });
    // In another order than the configuration's.
    let record = Record { lease, standings: standings.rev().collect() };
    envoy.shared_data().set(RECORD_KEY, record.to_bytes());
    envoy.tick(root).unwrap_or_else(|failure| panic!("{failure:?}"));
}

proptest! {
    #![proptest_config(Config { cases: CONFIGS, ..Config::default() })]
    #[test]
    fn the_module_chooses_like_the_crate(
        config in config(),
        changes in vec((vec(judgement(), TIERS.len()), 0..6_usize), CHANGES),
    ) {
        let table = RouteTable::from_json(config.to_string().as_bytes()).expect("a sound config");

        let mut envoy = Host::builder(&release()).envoy();
        let root = envoy.start(&release(), config.to_string()).expect("it starts");
        for (judgements, rule) in changes {
            share(&mut envoy, root, &judgements);
            let levels: Vec<_> = judgements.iter().map(|judgement| judgement.level()).collect();
            let request = Request::get("payment", format!("/{rule}"));
            let Ok(decision) = table.decide(&Asked::new(request.headers()), Levels::new(&levels), || 0);
            let effects = envoy.request(root, &request).unwrap_or_else(|failure| panic!("{failure:?}"));
            prop_assert_eq!(FilterOutcome::of(&effects), outcome(&decision), "{:?} {:?}", judgements, rule);
        }
        prop_assert!(envoy.callouts(root.vm).is_empty(), "another one probes");
    }
}
