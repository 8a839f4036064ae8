//! The cases that every data plane is asked.

use std::sync::LazyLock;

use mcwan_core::explain::{self, Asked, Explainer};
use mcwan_core::snapshot::Snapshot;
use mcwan_testbed::client::Request;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;

use super::imports;
use super::requests::request;
use super::seed::{Draws, seed};
use super::surroundings::{SERVICE_PORT, snapshot};

/// How many requests are drawn near each import.
const REQUESTS: usize = 20;

/// How many draws are tried for a choice by weight; the least share of a generated backend is 1 in 20.
const DRAWS: u64 = 64;

/// The one world of a run.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| World::new(seed()));

/// Imports, requests near them, and what `explain` says of each.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) snapshot: Snapshot,
    /// What the snapshot means where everything can be said.
    pub(crate) setup: Setup,
    pub(crate) cases: Vec<Case>,
}

/// One import and one request.
pub(crate) struct Case {
    /// The import that the request was made for, by its place in the snapshot.
    pub(crate) import: usize,
    pub(crate) request: Request,
    /// What chance may choose from; never empty.
    pub(crate) possible: Vec<explain::Outcome>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let names = draws.draw(&imports::names());
        let imports: Vec<_> = names.into_iter().map(|name| draws.draw(&imports::service_import(name))).collect();
        let mut asked = Vec::new();
        for (index, import) in imports.iter().enumerate() {
            let request = request(import);
            asked.extend((0..REQUESTS).map(|_| (index, draws.draw(&request))));
        }
        let snapshot = snapshot(imports);
        let setup = Setup::new(snapshot.clone(), Mode::RouteHeader).unwrap();
        let case = |(import, request)| Case { import, possible: possible(&setup, &request), request };
        let cases = asked.into_iter().map(case).collect();
        Self { seed, snapshot, setup, cases }
    }
}

/// Everything that may become of a request.
pub(crate) fn possible(Setup { translation, plugin, .. }: &Setup, request: &Request) -> Vec<explain::Outcome> {
    let Request { method, host, path, headers } = request;
    let host = String::from_utf8(host.clone().unwrap_or_default()).unwrap();
    let mut asked = Asked::new(method, "http", &host, Some(SERVICE_PORT), path, &[]);
    asked.lines = headers.iter().map(|(name, value)| (name.to_ascii_lowercase().into(), value.clone())).collect();
    let explainer = Explainer::new(translation, plugin);
    let first = explainer.explain(&asked, 0).0;
    let mut imports = translation.imports.iter();
    let import = imports.find(|import| first.import == Some(format!("{}/{}", import.wire.namespace, import.wire.name)));
    let actions = import.and_then(|import| import.wire.rules.get(first.rule?)).map(|rule| &*rule.actions);
    let chosen_from = actions.unwrap_or_default().iter().filter(|action| action.weight() > 0).count();
    let mut possible = vec![first];
    for draw in (1..DRAWS).take_while(|_| chosen_from > 1) {
        let (other, _) = explainer.explain(&asked, draw * (u64::MAX / DRAWS));
        if !possible.contains(&other) {
            possible.push(other);
        }
    }
    possible
}
