//! What went over the border during one operation.

use crate::{Callback, HostCall};

/// Everything that went over the border between host and module during one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The calls into the module in order.
    pub callbacks: Vec<Call>,
    /// The Proxy-Wasm functions that the module called, in order.
    pub host_calls: Vec<HostCall>,
    /// How often it called a WASI function.
    pub wasi_calls: usize,
    /// What it logged, whatever the host's log level.
    pub log: Vec<LogLine>,
}

impl Trace {
    /// How often the module called a function of the host.
    pub fn count(&self, call: HostCall) -> usize {
        self.host_calls.iter().filter(|made| **made == call).count()
    }

    /// All calls into the host, those of WASI included.
    pub fn border_crossings(&self) -> usize {
        self.host_calls.len() + self.wasi_calls
    }

    /// The fuel that one callback took, summed up over its calls in the live VM.
    pub fn fuel(&self, callback: Callback) -> u64 {
        self.callbacks
            .iter()
            .filter(|call| call.vm == VmKind::Live && call.callback == callback)
            .map(|call| call.fuel)
            .sum()
    }
}

/// One call into the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The VM that was called.
    pub vm: VmKind,
    /// The function.
    pub callback: Callback,
    /// The context that it was called for; 0 where it was for none.
    pub context: u32,
    /// The fuel that it took: about one unit per WebAssembly instruction, the same in every run.
    pub fuel: u64,
}

/// Which of the VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmKind {
    /// Tries a configuration and is dropped.
    Canary,
    /// Plays requests.
    Live,
}

/// A line that the module logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How serious.
    pub level: LogLevel,
    /// The text; what is not UTF-8 is replaced.
    pub text: String,
}

/// How serious a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the usual ones")]
pub enum LogLevel {
    Trace = 0,
    Debug = 1,
    Info = 2,
    Warn = 3,
    Error = 4,
    Critical = 5,
}

impl LogLevel {
    /// The number that the module sees.
    pub(crate) const fn code(self) -> u32 {
        self as u32
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Critical]
            .into_iter()
            .find(|level| level.code() == code)
    }
}
