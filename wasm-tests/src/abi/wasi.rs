//! As much of WASI preview 1 as Rust's standard library needs without files.

use wasmtime::{Caller, Linker};

use super::guest::Guest;
use crate::state::State;
use crate::{LogLevel, LogLine, Status};

/// The module name of the WASI functions.
pub(super) const MODULE: &str = "wasi_snapshot_preview1";

const REAL_TIME: u32 = 0;
const MONOTONIC: u32 = 1;

const SUCCESS: u32 = 0;
const EBADF: u32 = 8;
const EFAULT: u32 = 21;
/// What a function answers that is not done here.
pub(super) const ENOSYS: u32 = 52;
const ENOTSUP: u32 = 58;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(MODULE, name, no_strings)?;
    }
    for name in ["args_get", "environ_get"] {
        linker.func_wrap(MODULE, name, |caller: Caller<'_, State>, _: u32, _: u32| answer(caller, |_| Ok(())))?;
    }
    linker.func_wrap(MODULE, "clock_time_get", clock_time_get)?;
    linker.func_wrap(MODULE, "fd_write", fd_write)?;
    linker.func_wrap(MODULE, "proc_exit", proc_exit)?;
    linker.func_wrap(MODULE, "random_get", random_get)?;
    linker.func_wrap(MODULE, "sched_yield", |caller: Caller<'_, State>| answer(caller, |_| Ok(())))?;
    Ok(())
}

/// An error number of WASI.
struct Errno(u32);

/// A bad pointer is all that can go wrong in memory.
impl From<Status> for Errno {
    fn from(_: Status) -> Self {
        Self(EFAULT)
    }
}

fn answer(caller: Caller<'_, State>, work: impl FnOnce(&mut Guest<'_>) -> Result<(), Errno>) -> u32 {
    let mut guest = Guest::new(caller);
    guest.state().environment.trace.wasi_calls += 1;
    match work(&mut guest) {
        Ok(()) => SUCCESS,
        Err(Errno(number)) => number,
    }
}

/// There are neither arguments nor environment variables.
fn no_strings(caller: Caller<'_, State>, count: u32, size: u32) -> u32 {
    answer(caller, |guest| {
        guest.write(count, &0_u32.to_le_bytes())?;
        Ok(guest.write(size, &0_u32.to_le_bytes())?)
    })
}

fn clock_time_get(caller: Caller<'_, State>, clock: u32, _precision: u64, result: u32) -> u32 {
    answer(caller, |guest| {
        let environment = &guest.state().environment;
        let now = match clock {
            REAL_TIME => environment.now.as_nanos(),
            MONOTONIC => environment.monotonic.as_nanos(),
            _ => return Err(Errno(ENOTSUP)),
        };
        let now = u64::try_from(now).map_err(|_| Errno(ENOTSUP))?;
        Ok(guest.write(result, &now.to_le_bytes())?)
    })
}

/// Standard output becomes a log line of level info, standard error one of level error.
fn fd_write(caller: Caller<'_, State>, file: u32, parts: u32, count: u32, result: u32) -> u32 {
    answer(caller, |guest| {
        let level = match file {
            1 => LogLevel::Info,
            2 => LogLevel::Error,
            _ => return Err(Errno(EBADF)),
        };
        let mut text = Vec::new();
        let size = count.checked_mul(8).ok_or(Errno(EFAULT))?;
        let parts = guest.read(parts, size)?;
        let words = parts.as_chunks().0.iter().copied();
        let words: Vec<_> = words.map(u32::from_le_bytes).collect();
        for &[address, size] in words.as_chunks().0 {
            text.extend(guest.read(address, size)?);
        }
        let written = u32::try_from(text.len()).map_err(|_| Errno(EFAULT))?;
        let text = String::from_utf8_lossy(&text).trim_end().to_owned();
        let trace = &mut guest.state().environment.trace;
        trace.log.push(LogLine { level, text });
        Ok(guest.write(result, &written.to_le_bytes())?)
    })
}

/// A module has no business to exit; Envoy returns from this call.
fn proc_exit(mut caller: Caller<'_, State>, code: u32) -> wasmtime::Result<()> {
    caller.data_mut().environment.trace.wasi_calls += 1;
    Err(wasmtime::format_err!("the module exited with code {code}"))
}

fn random_get(caller: Caller<'_, State>, result: u32, size: u32) -> u32 {
    answer(caller, |guest| {
        // Read first: a size beyond the memory must not make the host allocate as much.
        let mut bytes = guest.read(result, size)?;
        guest.state().environment.random.fill(&mut bytes);
        Ok(guest.write(result, &bytes)?)
    })
}
