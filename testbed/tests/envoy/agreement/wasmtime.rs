//! The cases through the release module on wasmtime.

use mcwan_core::explain::{self, OutcomeKind};
use mcwan_policy::STEERING_HEADER;
use mcwan_testbed::client::Request;
use mcwan_testbed::setup::Setup;
use mcwan_wasm_tests::{self as wasm, Action, Effects, Host, Module, RouteCache};

use super::ends::{EndAnswer, Lines, lines, without};
use super::surroundings::SERVICE_PORT;

/// What the module did with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Answered(EndAnswer),
    /// It goes on.
    Continued {
        steering: Vec<String>,
        authority: String,
        path: String,
        /// Without the steering header.
        headers: Lines,
        /// Whether the route is chosen anew.
        anew: RouteCache,
    },
}

/// The module with the rules of a setup.
pub(crate) struct Filter(Host);

impl Filter {
    pub(crate) fn load(setup: &Setup, seed: u64) -> Self {
        let module = Module::release().unwrap();
        let port = i64::from(SERVICE_PORT).to_le_bytes();
        let builder = Host::builder(&module).property(&["destination", "port"], port).seed(seed);
        Self(builder.load(&setup.plugin.json).unwrap())
    }

    /// Plays a request.
    pub(crate) fn play(&mut self, request: &Request) -> Deed {
        let host = handed_on(&text(request.host.as_deref().unwrap_or_default()));
        let mut played = wasm::Request::new(&request.method, host, &request.path);
        for (name, value) in &request.headers {
            played = played.header(name, value);
        }
        let Effects { action, headers, reply, route_cache, trace: _ } = self.0.request(&played).unwrap();
        if let Some(reply) = reply {
            assert_eq!(action, Action::Pause, "never on after a local reply");
            let body = if request.method == "HEAD" { String::new() } else { text(&reply.body) };
            let headers = lines(reply.headers.iter().map(|(name, value)| (text(name), text(value))));
            return Deed::Answered(EndAnswer { status: reply.status.try_into().unwrap(), headers, body });
        }
        assert_eq!(action, Action::Continue, "nothing else is to be waited for");
        let value = |name: &str| headers.get(name).map(text).unwrap_or_default();
        let all = lines(headers.iter().map(|(name, value)| (text(name), text(value))));
        Deed::Continued {
            steering: headers.get_all(STEERING_HEADER).map(text).collect(),
            authority: value(":authority"),
            path: value(":path"),
            headers: without(all, |name| name.starts_with(':') || name == STEERING_HEADER),
            anew: route_cache,
        }
    }
}

impl Deed {
    /// What `explain` says.
    pub(crate) fn explained(outcome: &explain::Outcome, request: &Request, setup: &Setup) -> Self {
        let headers = request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value)));
        let headers = without(lines(headers), |name| name == STEERING_HEADER);
        let (steering, authority, anew) = match outcome.kind {
            OutcomeKind::Reply => return Self::Answered(EndAnswer::explained(outcome, request)),
            OutcomeKind::Pass => (Vec::new(), handed_on(outcome.authority.as_deref().unwrap()), RouteCache::Kept),
            OutcomeKind::Route => {
                let of = |import: &&mcwan_core::translate::Import| {
                    outcome.import == Some(format!("{}/{}", import.wire.namespace, import.wire.name))
                };
                let import = setup.translation.imports.iter().find(of).unwrap();
                let target = import.targets.iter().find(|target| Some(&target.name) == outcome.target.as_ref());
                // The route behind the filter may change the authority once more.
                (vec![target.unwrap().steering_value()], import.canonical_host(), RouteCache::Cleared)
            }
        };
        Self::Continued { steering, authority, path: outcome.path.clone().unwrap(), headers, anew }
    }
}

/// A host as Envoy hands it on to filters: without its port and one trailing dot.
fn handed_on(host: &str) -> String {
    let host = host.split(':').next().unwrap();
    host.strip_suffix('.').unwrap_or(host).to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
