//! The functions that a module can import.

mod callouts;
mod data;
mod general;
mod guest;
mod http;
mod metrics;
mod shared_data;
mod wasi;

use wasmtime::{ExternType, Linker, Module, Val};

use self::guest::answer;
use crate::state::State;
use crate::{HostCall, Status};

/// The module name of the Proxy-Wasm functions.
const PROXY_WASM: &str = "env";

/// Provides what a module imports. Functions of the ABI that are not done here answer
/// [`Status::Unimplemented`], those of WASI `ENOSYS`.
pub(crate) fn link(module: &Module) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(module.engine());
    link_as_missing(&mut linker, module)?;
    linker.allow_shadowing(true);
    general::link(&mut linker)?;
    callouts::link(&mut linker)?;
    data::link(&mut linker)?;
    http::link(&mut linker)?;
    metrics::link(&mut linker)?;
    shared_data::link(&mut linker)?;
    wasi::link(&mut linker)?;
    Ok(linker)
}

fn link_as_missing(linker: &mut Linker<State>, module: &Module) -> wasmtime::Result<()> {
    for import in module.imports() {
        let ExternType::Func(signature) = import.ty() else {
            continue;
        };
        let name = import.name();
        match import.module() {
            PROXY_WASM => {
                let Some(&call) = HostCall::ALL.iter().find(|call| call.import() == name) else {
                    continue;
                };
                linker.func_new(PROXY_WASM, name, signature, move |caller, _, results| {
                    let missing = |_: &mut guest::Guest<'_>| Err(Status::Unimplemented.into());
                    put(results, answer(caller, call, missing)?);
                    Ok(())
                })?;
            }
            wasi::MODULE => {
                linker.func_new(wasi::MODULE, name, signature, |mut caller, _, results| {
                    caller.data_mut().environment.trace.wasi_calls += 1;
                    put(results, wasi::ENOSYS);
                    Ok(())
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sets the result, if the function has one.
fn put(results: &mut [Val], code: u32) {
    if let Some(result) = results.first_mut() {
        *result = Val::I32(code.cast_signed());
    }
}
