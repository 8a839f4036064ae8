//! Compiled modules.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{env, fs, io};

use wasmtime::{Config, Engine, InstancePre};

use crate::abi;
use crate::state::State;

/// Every VM counts its fuel; else the engine is as it comes.
static ENGINE: LazyLock<Result<Engine, String>> =
    LazyLock::new(|| Engine::new(Config::new().consume_fuel(true)).map_err(|error| format!("{error:#}")));

/// The release module, once it has been compiled.
static RELEASE: Mutex<Option<Module>> = Mutex::new(None);

/// A compiled Proxy-Wasm module. Cheap to clone; can be shared between threads.
#[derive(Clone)]
pub struct Module {
    prepared: InstancePre<State>,
    size: usize,
}

/// Why there is no module to run.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The environment variable that names the folder of tools is not set.
    #[error("MCWAN_TOOLS is not set: start me with cargo, in the workspace")]
    NoTools,
    /// There is no such file.
    #[error("{} is missing: run `cargo xtask setup`", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("cannot read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// It is not a WebAssembly module, or it imports what no Proxy-Wasm host provides.
    #[error("it cannot be compiled or linked: {0}")]
    Invalid(String),
    /// It lacks what every module must export.
    #[error("it does not export `{0}`")]
    NoExport(&'static str),
}

impl Module {
    /// The filter as it ships: `mcwan-filter.wasm` in the folder that `MCWAN_TOOLS` names. It is
    /// compiled once per process.
    pub fn release() -> Result<Self, ModuleError> {
        let mut release = RELEASE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &*release {
            return Ok(module.clone());
        }
        let tools = env::var_os("MCWAN_TOOLS").ok_or(ModuleError::NoTools)?;
        let module = Self::read(&Path::new(&tools).join("mcwan-filter.wasm"))?;
        Ok(release.insert(module).clone())
    }

    /// Reads a file and compiles it.
    pub fn read(path: &Path) -> Result<Self, ModuleError> {
        let wasm = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ModuleError::Missing(path.to_owned()),
            _ => ModuleError::Unreadable(path.to_owned(), error),
        })?;
        Self::new(&wasm)
    }

    /// Compiles a module of ABI 0.2.1 from its binary form.
    pub fn new(wasm: &[u8]) -> Result<Self, ModuleError> {
        let engine = ENGINE.as_ref();
        let engine = engine.map_err(|error| ModuleError::Invalid(error.clone()))?;
        let module = wasmtime::Module::from_binary(engine, wasm)?;
        let has = |name| module.get_export(name).is_some();
        for name in ["memory", "proxy_abi_version_0_2_1"] {
            if !has(name) {
                return Err(ModuleError::NoExport(name));
            }
        }
        if !has("malloc") && !has("proxy_on_memory_allocate") {
            return Err(ModuleError::NoExport("proxy_on_memory_allocate"));
        }
        let linker = abi::link(&module)?;
        Ok(Self { prepared: linker.instantiate_pre(&module)?, size: wasm.len() })
    }

    /// The size of its binary form in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The names of what it exports.
    pub fn exports(&self) -> impl Iterator<Item = &str> {
        self.prepared.module().exports().map(|export| export.name())
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.prepared.module().engine()
    }

    pub(crate) fn prepared(&self) -> &InstancePre<State> {
        &self.prepared
    }
}

impl From<wasmtime::Error> for ModuleError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Invalid(format!("{error:#}"))
    }
}
