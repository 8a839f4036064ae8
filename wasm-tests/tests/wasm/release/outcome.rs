//! What becomes of a request, in one word.

use mcwan_wasm_tests::{Action, Effects, Host, Request, RouteCache};

use FilterOutcome::{Held, Passed, Redirected, Refused, Steered};

/// What becomes of a request, in one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FilterOutcome {
    /// It goes on without a steering header.
    Passed,
    /// It goes on with this steering header.
    Steered(String),
    /// It is answered with this status and reason.
    Refused(u32, String),
    /// It is answered with this status and location.
    Redirected(u32, String),
    /// It neither goes on nor is it answered.
    Held,
}

impl FilterOutcome {
    /// Reads the effects; what must hold of all of them is checked here.
    pub(crate) fn of(effects: &Effects) -> Self {
        let targets: Vec<_> = effects.headers.get_all("x-mcwan-target").collect();
        if let Some(reply) = &effects.reply {
            assert_eq!(effects.action, Action::Pause, "never on after a local reply: {effects:?}");
            return match (reply.headers.get("x-mcwan-reason"), reply.headers.get("location")) {
                (Some(reason), None) => {
                    assert_eq!(text(&reply.body).lines().count(), 1, "one sentence: {effects:?}");
                    Refused(reply.status, text(reason))
                }
                (None, Some(location)) => {
                    assert!(reply.body.is_empty(), "a redirect has no body: {effects:?}");
                    Redirected(reply.status, text(location))
                }
                _ => panic!("want either a reason or a location: {effects:?}"),
            };
        }
        if effects.action == Action::Pause {
            return Held;
        }
        match targets.as_slice() {
            [] => Passed,
            [target] => {
                assert_ne!(effects.route_cache, RouteCache::ClearedTooEarly, "{effects:?}");
                Steered(text(target))
            }
            _ => panic!("several steering headers: {effects:?}"),
        }
    }
}

/// Refused with this status for this reason.
pub(crate) fn refused(status: u32, reason: &str) -> FilterOutcome {
    Refused(status, reason.to_owned())
}

/// Steered to this target.
pub(crate) fn steered(target: &str) -> FilterOutcome {
    Steered(target.to_owned())
}

/// Plays a request.
pub(crate) fn play(host: &mut Host, request: &Request) -> Effects {
    host.request(request).unwrap_or_else(|failure| panic!("{failure:?} on {request:?}"))
}

/// What becomes of a request.
pub(crate) fn outcome(host: &mut Host, request: &Request) -> FilterOutcome {
    FilterOutcome::of(&play(host, request))
}

/// What becomes of a GET request.
pub(crate) fn get(host: &mut Host, authority: &str, path: &str) -> FilterOutcome {
    outcome(host, &Request::get(authority, path))
}

/// The one value of a header.
pub(crate) fn header<'e>(effects: &'e Effects, name: &str) -> &'e str {
    let mut values = effects.headers.get_all(name.to_owned());
    let value = values.next().unwrap_or_else(|| panic!("no {name}: {effects:?}"));
    assert_eq!(values.next(), None, "one {name}: {effects:?}");
    str::from_utf8(value).expect("UTF-8")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
