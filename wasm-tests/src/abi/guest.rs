//! Access to the module's memory from within a host call.

use std::ops::Range;

use wasmtime::Caller;

use crate::state::State;
use crate::{HostCall, Status};

/// How a host call does not succeed.
pub(super) enum CallError {
    /// The module is told so.
    Status(Status),
    /// The module itself failed, in what the call needed of it.
    Trap(wasmtime::Error),
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<wasmtime::Error> for CallError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Trap(error)
    }
}

/// The module that makes a host call.
pub(super) struct Guest<'c>(Caller<'c, State>);

/// Where the module wants the address and the size of a value.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    pub(super) address: u32,
    pub(super) size: u32,
}

/// Makes a host call: records it, fails it if it is to fail, or does the work.
pub(super) fn answer(
    caller: Caller<'_, State>,
    call: HostCall,
    work: impl FnOnce(&mut Guest<'_>) -> Result<(), CallError>,
) -> wasmtime::Result<u32> {
    let mut guest = Guest(caller);
    let environment = &mut guest.state().environment;
    environment.trace.host_calls.push(call);
    let fault = environment.faults.iter_mut().fold(None, |found, fault| found.or(fault.answer(call)));
    let outcome = match fault {
        Some(status) => Err(status.into()),
        None => work(&mut guest),
    };
    match outcome {
        Ok(()) => Ok(Status::Ok.code()),
        Err(CallError::Status(status)) => Ok(status.code()),
        Err(CallError::Trap(error)) => Err(error),
    }
}

impl<'c> Guest<'c> {
    pub(super) fn new(caller: Caller<'c, State>) -> Self {
        Self(caller)
    }

    pub(super) fn state(&mut self) -> &mut State {
        self.0.data_mut()
    }

    /// Copies bytes out of the module's memory.
    pub(super) fn read(&self, address: u32, size: u32) -> Result<Vec<u8>, Status> {
        let bytes = self.0.data().memory.and_then(|memory| {
            let range = range(address, usize::try_from(size).ok()?)?;
            memory.data(&self.0).get(range).map(<[u8]>::to_vec)
        });
        bytes.ok_or(Status::InvalidMemoryAccess)
    }

    /// Copies bytes into the module's memory.
    pub(super) fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Status> {
        let memory = self.0.data().memory;
        let place = memory.and_then(|memory| {
            let range = range(address, bytes.len())?;
            memory.data_mut(&mut self.0).get_mut(range)
        });
        place.ok_or(Status::InvalidMemoryAccess)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Gives the module a value, in memory that the module allocates for it. An empty value has
    /// the address 0.
    pub(super) fn give(&mut self, value: &[u8], to: Destination) -> Result<(), CallError> {
        let size = u32::try_from(value.len()).map_err(|_| Status::InvalidMemoryAccess)?;
        let mut address = 0;
        if size > 0 {
            let allocate = self.state().allocate.clone();
            let allocate = allocate.ok_or(Status::InvalidMemoryAccess)?;
            address = allocate.call(&mut self.0, size)?;
            if address == 0 {
                return Err(Status::InvalidMemoryAccess.into());
            }
            self.write(address, value)?;
        }
        self.write(to.address, &address.to_le_bytes())?;
        self.write(to.size, &size.to_le_bytes())?;
        Ok(())
    }
}

fn range(address: u32, size: usize) -> Option<Range<usize>> {
    let start = usize::try_from(address).ok()?;
    Some(start..start.checked_add(size)?)
}
