//! Custom statistics.

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::answer;
use crate::state::State;
use crate::{HostCall, Status};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::DefineMetric.import(), define)?;
    linker.func_wrap(PROXY_WASM, HostCall::IncrementMetric.import(), increment)?;
    linker.func_wrap(PROXY_WASM, HostCall::RecordMetric.import(), record)?;
    linker.func_wrap(PROXY_WASM, HostCall::GetMetric.import(), get)?;
    Ok(())
}

fn define(caller: Caller<'_, State>, kind: u32, name: u32, name_size: u32, result: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::DefineMetric, |guest| {
        let name = guest.read(name, name_size)?;
        let name = String::from_utf8(name).map_err(|_| Status::BadArgument)?;
        let state = guest.state();
        state.environment.metrics.define(kind, &name)?;
        state.metric_names.push(name);
        let number = u32::try_from(state.metric_names.len()).map_err(|_| Status::InternalFailure)?;
        Ok(guest.write(result, &number.to_le_bytes())?)
    })
}

fn increment(caller: Caller<'_, State>, metric: u32, offset: i64) -> wasmtime::Result<u32> {
    answer(caller, HostCall::IncrementMetric, |guest| {
        let state = guest.state();
        let name = state.metric_name(metric)?;
        Ok(state.environment.metrics.increment(&name, offset)?)
    })
}

fn record(caller: Caller<'_, State>, metric: u32, value: u64) -> wasmtime::Result<u32> {
    answer(caller, HostCall::RecordMetric, |guest| {
        let state = guest.state();
        let name = state.metric_name(metric)?;
        Ok(state.environment.metrics.record(&name, value)?)
    })
}

fn get(caller: Caller<'_, State>, metric: u32, result: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetMetric, |guest| {
        let state = guest.state();
        let name = state.metric_name(metric)?;
        let value = state.environment.metrics.value(&name)?;
        Ok(guest.write(result, &value.to_le_bytes())?)
    })
}
