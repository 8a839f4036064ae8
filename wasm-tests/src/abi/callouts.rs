//! Requests that modules send by themselves.

use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::answer;
use crate::state::State;
use crate::{Callout, Headers, HostCall, Status};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::HttpCall.import(), http_call)?;
    Ok(())
}

/// What Envoy asks of a request.
const NEEDED: [&str; 3] = [":path", ":method", ":authority"];

#[expect(clippy::too_many_arguments, reason = "the ABI's signature")]
fn http_call(
    caller: Caller<'_, State>,
    cluster: u32,
    cluster_size: u32,
    headers: u32,
    headers_size: u32,
    body: u32,
    body_size: u32,
    trailers: u32,
    trailers_size: u32,
    timeout: u32,
    result: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::HttpCall, |guest| {
        let cluster = String::from_utf8(guest.read(cluster, cluster_size)?).map_err(|_| Status::BadArgument)?;
        let headers = Headers::from_pairs(&guest.read(headers, headers_size)?).ok_or(Status::BadArgument)?;
        guest.read(body, body_size)?;
        guest.read(trailers, trailers_size)?;
        let state = guest.state();
        let is_whole = NEEDED.iter().all(|name| headers.get(name).is_some());
        if !is_whole || state.environment.clusters.missing.contains(&cluster) {
            return Err(Status::BadArgument.into());
        }
        let acting = state.contexts.acting();
        let root = state.stream().map_or(acting, |stream| stream.root);
        let token = state.callouts.open();
        guest.write(result, &token.to_le_bytes())?;
        let state = guest.state();
        let (timeout, sent) = (Duration::from_millis(timeout.into()), state.environment.monotonic);
        state.callouts.waiting.push(Callout { token, root, cluster, headers, timeout, sent });
        Ok(())
    })
}
