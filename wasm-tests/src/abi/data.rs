//! Configuration, properties, foreign functions.

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::{Destination, answer};
use crate::state::State;
use crate::{HostCall, RouteCache, Status};

const VM_CONFIGURATION: u32 = 6;
const PLUGIN_CONFIGURATION: u32 = 7;
const LAST_BUFFER: u32 = 8;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::GetBufferBytes.import(), get_buffer_bytes)?;
    linker.func_wrap(PROXY_WASM, HostCall::GetProperty.import(), get_property)?;
    linker.func_wrap(PROXY_WASM, HostCall::SetProperty.import(), set_property)?;
    linker.func_wrap(PROXY_WASM, HostCall::CallForeignFunction.import(), call_foreign_function)?;
    Ok(())
}

fn get_buffer_bytes(
    caller: Caller<'_, State>,
    buffer: u32,
    start: u32,
    size: u32,
    result: u32,
    result_size: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetBufferBytes, |guest| {
        let state = guest.state();
        let bytes = match buffer {
            VM_CONFIGURATION => Some(state.environment.vm_configuration.as_slice()),
            PLUGIN_CONFIGURATION => state.configuration.as_deref(),
            0..=LAST_BUFFER => None,
            _ => return Err(Status::BadArgument.into()),
        };
        let bytes = bytes.ok_or(Status::NotFound)?;
        let end = start.checked_add(size).ok_or(Status::BadArgument)?;
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
        let part = bytes.get(start..end).ok_or(Status::BadArgument)?.to_vec();
        if part.is_empty() {
            return Ok(()); // Envoy does not touch the result then.
        }
        let to = Destination { address: result, size: result_size };
        guest.give(&part, to)
    })
}

fn get_property(
    caller: Caller<'_, State>,
    path: u32,
    path_size: u32,
    result: u32,
    result_size: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetProperty, |guest| {
        let path = guest.read(path, path_size)?;
        let state = guest.state();
        let own = state.stream().and_then(|stream| stream.properties.get(&path).cloned());
        let value = own.or_else(|| state.environment.properties.get(&path).cloned());
        let to = Destination { address: result, size: result_size };
        guest.give(&value.ok_or(Status::NotFound)?, to)
    })
}

fn set_property(
    caller: Caller<'_, State>,
    path: u32,
    path_size: u32,
    value: u32,
    value_size: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SetProperty, |guest| {
        let path = guest.read(path, path_size)?;
        let value = guest.read(value, value_size)?;
        let stream = guest.state().stream().ok_or(Status::NotFound)?;
        stream.properties.insert(path, value);
        Ok(())
    })
}

fn call_foreign_function(
    caller: Caller<'_, State>,
    name: u32,
    name_size: u32,
    arguments: u32,
    arguments_size: u32,
    result: u32,
    result_size: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::CallForeignFunction, |guest| {
        let name = guest.read(name, name_size)?;
        guest.read(arguments, arguments_size)?;
        let state = guest.state();
        if name != b"clear_route_cache" || !state.environment.has_clear_route_cache {
            return Err(Status::NotFound.into());
        }
        if let Some(stream) = state.stream() {
            stream.route_cache = RouteCache::Cleared;
        }
        for result in [result, result_size] {
            if result != 0 {
                guest.write(result, &0_u32.to_le_bytes())?;
            }
        }
        Ok(())
    })
}
