//! Log, time, and the life of contexts.

use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::PROXY_WASM;
use super::guest::answer;
use crate::state::State;
use crate::{HostCall, LogLevel, LogLine, Status};

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(PROXY_WASM, HostCall::Log.import(), log)?;
    linker.func_wrap(PROXY_WASM, HostCall::GetLogLevel.import(), get_log_level)?;
    linker.func_wrap(PROXY_WASM, HostCall::GetCurrentTimeNanoseconds.import(), get_current_time_nanoseconds)?;
    linker.func_wrap(PROXY_WASM, HostCall::SetTickPeriodMilliseconds.import(), set_tick_period_milliseconds)?;
    linker.func_wrap(PROXY_WASM, HostCall::SetEffectiveContext.import(), set_effective_context)?;
    linker.func_wrap(PROXY_WASM, HostCall::Done.import(), done)?;
    Ok(())
}

fn log(caller: Caller<'_, State>, level: u32, text: u32, size: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::Log, |guest| {
        let level = LogLevel::from_code(level).ok_or(Status::BadArgument)?;
        let text = String::from_utf8_lossy(&guest.read(text, size)?).into_owned();
        let trace = &mut guest.state().environment.trace;
        trace.log.push(LogLine { level, text });
        Ok(())
    })
}

fn get_log_level(caller: Caller<'_, State>, result: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetLogLevel, |guest| {
        let level = guest.state().environment.log_level.code();
        Ok(guest.write(result, &level.to_le_bytes())?)
    })
}

fn get_current_time_nanoseconds(caller: Caller<'_, State>, result: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::GetCurrentTimeNanoseconds, |guest| {
        let now = guest.state().environment.now.as_nanos();
        let now = u64::try_from(now).map_err(|_| Status::InternalFailure)?;
        Ok(guest.write(result, &now.to_le_bytes())?)
    })
}

fn set_tick_period_milliseconds(caller: Caller<'_, State>, period: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SetTickPeriodMilliseconds, |guest| {
        let state = guest.state();
        let context = state.contexts.acting();
        let root = state.stream().map_or(context, |stream| stream.root);
        if period == 0 {
            state.tick_periods.remove(&root);
        } else {
            let period = Duration::from_millis(period.into());
            state.tick_periods.insert(root, period);
        }
        Ok(())
    })
}

fn set_effective_context(caller: Caller<'_, State>, context: u32) -> wasmtime::Result<u32> {
    answer(caller, HostCall::SetEffectiveContext, |guest| {
        let contexts = &mut guest.state().contexts;
        if !contexts.alive.contains(&context) {
            return Err(Status::BadArgument.into());
        }
        contexts.effective = Some(context);
        Ok(())
    })
}

fn done(caller: Caller<'_, State>) -> wasmtime::Result<u32> {
    answer(caller, HostCall::Done, |guest| {
        let contexts = &mut guest.state().contexts;
        let context = contexts.acting();
        if !contexts.closing.remove(&context) {
            return Err(Status::NotFound.into());
        }
        contexts.closed.push(context);
        Ok(())
    })
}
