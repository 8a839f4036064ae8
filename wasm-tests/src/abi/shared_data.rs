//! Data that VMs share.

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::{Destination, answer};
use crate::state::State;
use crate::{HostCall, Status};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::GetSharedData.import(), get_shared_data)?;
    linker.func_wrap(PROXY_WASM, HostCall::SetSharedData.import(), set_shared_data)?;
    Ok(())
}

fn get_shared_data(
    caller: Caller<'_, State>,
    key: u32,
    key_size: u32,
    result: u32,
    result_size: u32,
    result_version: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetSharedData, |guest| {
        let key = guest.read(key, key_size)?;
        let found = guest.state().environment.shared_data.versioned(&key);
        let (value, version) = found.map(|(value, version)| (value.to_vec(), version)).ok_or(Status::NotFound)?;
        guest.give(&value, Destination { address: result, size: result_size })?;
        Ok(guest.write(result_version, &version.to_le_bytes())?)
    })
}

fn set_shared_data(
    caller: Caller<'_, State>,
    key: u32,
    key_size: u32,
    value: u32,
    value_size: u32,
    version: u32,
) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SetSharedData, |guest| {
        let key = guest.read(key, key_size)?;
        let value = guest.read(value, value_size)?;
        Ok(guest.state().environment.shared_data.compare_and_set(key, value, version)?)
    })
}
