//! Request headers and local replies.

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::{CallError, Destination, Guest, answer};
use crate::state::{State, Stream};
use crate::{Headers, HostCall, LocalReply, Status};

const REQUEST_HEADERS: u32 = 0;
const CALL_RESPONSE_HEADERS: u32 = 6;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::GetHeaderMapValue.import(), get_value)?;
    linker.func_wrap(PROXY_WASM, HostCall::GetHeaderMapPairs.import(), get_pairs)?;
    linker.func_wrap(PROXY_WASM, HostCall::SetHeaderMapPairs.import(), set_pairs)?;
    linker.func_wrap(PROXY_WASM, HostCall::RemoveHeaderMapValue.import(), remove_value)?;
    linker.func_wrap(
        PROXY_WASM,
        HostCall::AddHeaderMapValue.import(),
        |caller: Caller<'_, State>, map, name, name_size, value, value_size| {
            answer(caller, HostCall::AddHeaderMapValue, |guest| {
                let line = (guest.read(name, name_size)?, guest.read(value, value_size)?);
                stream(guest, map)?.headers_mut().add(line.0, line.1);
                Ok(())
            })
        },
    )?;
    linker.func_wrap(
        PROXY_WASM,
        HostCall::ReplaceHeaderMapValue.import(),
        |caller: Caller<'_, State>, map, name, name_size, value, value_size| {
            answer(caller, HostCall::ReplaceHeaderMapValue, |guest| {
                let line = (guest.read(name, name_size)?, guest.read(value, value_size)?);
                stream(guest, map)?.headers_mut().replace(line.0, line.1);
                Ok(())
            })
        },
    )?;
    linker.func_wrap(PROXY_WASM, HostCall::SendLocalResponse.import(), send_local_response)?;
    Ok(())
}

/// The request whose headers are the map of that number. Envoy calls any other map, and any map
/// outside a request, a bad argument.
fn stream<'g>(guest: &'g mut Guest<'_>, map: u32) -> Result<&'g mut Stream, CallError> {
    let stream = guest.state().stream();
    let stream = stream.filter(|_| map == REQUEST_HEADERS);
    stream.ok_or(CallError::Status(Status::BadArgument))
}

/// The map of that number, to be read: of the request, or of the answer that the module is told of.
fn headers<'g>(guest: &'g mut Guest<'_>, map: u32) -> Result<&'g Headers, CallError> {
    if map == CALL_RESPONSE_HEADERS {
        return guest.state().callouts.answer.as_ref().ok_or(CallError::Status(Status::BadArgument));
    }
    stream(guest, map).map(|stream| &stream.headers)
}

fn get_value(
    caller: Caller<'_, State>,
    map: u32,
    name: u32,
    name_size: u32,
    result: u32,
    result_size: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetHeaderMapValue, |guest| {
        let name = guest.read(name, name_size)?;
        let value = headers(guest, map)?.get(name).map(<[u8]>::to_vec);
        let to = Destination { address: result, size: result_size };
        guest.give(&value.ok_or(Status::NotFound)?, to)
    })
}

fn get_pairs(caller: Caller<'_, State>, map: u32, result: u32, result_size: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetHeaderMapPairs, |guest| {
        let pairs = headers(guest, map)?.to_pairs();
        let to = Destination { address: result, size: result_size };
        guest.give(&pairs.ok_or(Status::SerializationFailure)?, to)
    })
}

/// Pairs that cannot be read are none, as in Envoy.
fn set_pairs(caller: Caller<'_, State>, map: u32, pairs: u32, size: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SetHeaderMapPairs, |guest| {
        let pairs = guest.read(pairs, size)?;
        let headers = Headers::from_pairs(&pairs).unwrap_or_default();
        *stream(guest, map)?.headers_mut() = headers;
        Ok(())
    })
}

fn remove_value(caller: Caller<'_, State>, map: u32, name: u32, name_size: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::RemoveHeaderMapValue, |guest| {
        let name = guest.read(name, name_size)?;
        stream(guest, map)?.headers_mut().remove(name);
        Ok(())
    })
}

/// Outside a request there is nobody to answer; Envoy says that all is well.
#[expect(clippy::too_many_arguments, reason = "the ABI's signature")]
fn send_local_response(
    caller: Caller<'_, State>,
    status: u32,
    details: u32,
    details_size: u32,
    body: u32,
    body_size: u32,
    headers: u32,
    headers_size: u32,
    grpc_status: i32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SendLocalResponse, |guest| {
        let headers = guest.read(headers, headers_size)?;
        let reply = LocalReply {
            status,
            details: guest.read(details, details_size)?,
            headers: Headers::from_pairs(&headers).unwrap_or_default(),
            body: guest.read(body, body_size)?,
            grpc_status,
        };
        if let Some(stream) = guest.state().stream() {
            stream.reply.get_or_insert(reply);
        }
        Ok(())
    })
}
