//! Does to a request what was decided: the filter's side of the steering contract.

use std::rc::Rc;

use mcwan_policy::{Decision, FORWARDED_HOST_HEADER, Reason, Reply, Request, Route, STEERING_HEADER};
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

use crate::counters;
use crate::host::{self, HostError};
use crate::plugin::Plugin;
use crate::request::HostRequest;

/// One request.
pub(crate) struct Steering {
    /// What was in force when the request came; none before a configuration was loaded.
    plugin: Option<Rc<Plugin>>,
}

impl Steering {
    pub(crate) fn new(plugin: Option<Rc<Plugin>>) -> Self {
        Self { plugin }
    }
}

impl Context for Steering {}

impl HttpContext for Steering {
    fn on_http_request_headers(&mut self, _headers: usize, _end_of_stream: bool) -> Action {
        let internal = || Decision::refuse(Reason::Internal, None, None);
        let request = HostRequest::default();
        let decision = match &self.plugin {
            Some(plugin) => plugin.decide(&request).unwrap_or_else(|_| internal()),
            None => internal(),
        };
        let done = match &decision {
            Decision::Pass => host::remove_request_header(STEERING_HEADER).map(|()| Action::Continue),
            Decision::Route(route) => steer(&request, route).map(|()| Action::Continue),
            Decision::Reply(reply) => answer(reply),
        };
        if let Ok(action) = done {
            counters::count(&decision);
            return action;
        }
        let decision = internal();
        counters::count(&decision);
        match &decision {
            // If not even this can be sent, the request waits for its timeout: it never goes on unsteered.
            Decision::Reply(reply) => answer(reply).unwrap_or(Action::Pause),
            Decision::Pass | Decision::Route(_) => Action::Pause,
        }
    }
}

/// Names the target to the route behind us. The steering header is set last but for the choice of the
/// route: should a call fail, the request carries nothing that a route would follow.
fn steer(request: &HostRequest, route: &Route<'_>) -> Result<(), HostError> {
    let asked = request.authority()?;
    match route.import.authority().map(str::as_bytes) {
        Some(authority) if asked.as_deref() == Some(authority) => {}
        Some(authority) => host::set_request_header(":authority", authority)?,
        // A route may name another one upstream.
        None => host::set_request_header(FORWARDED_HOST_HEADER, asked.as_deref().unwrap_or_default())?,
    }
    if let Some(path) = &route.path {
        host::set_request_header(":path", path)?;
    }
    host::set_request_header(STEERING_HEADER, route.target.steering_value().as_bytes())?;
    host::clear_route_cache()
}

fn answer(reply: &Reply<'_>) -> Result<Action, HostError> {
    let details = format!("mcwan.{}", reply.reason.map_or("Redirect", Reason::as_str));
    host::send_local_response(reply.status, &details, &reply.headers, reply.body)?;
    Ok(Action::Pause)
}
