//! The host: a plugin's configuration and the VM that runs it.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::environment::{Environment, Random, property_key};
use crate::envoy::Envoy;
use crate::failure::Stop;
use crate::trace::VmKind;
use crate::vm::Vm;
use crate::{Effects, Failure, Fault, LogLevel, Metrics, Module, Request, Trace};

/// The settings of a host, before it loads a plugin.
#[derive(Clone)]
pub struct HostBuilder {
    module: Module,
    environment: Environment,
}

/// A host with a plugin loaded: one module, one VM, the root context of one configuration.
///
/// The path of the response is not played: a module that only steers has no part in it.
pub struct Host {
    module: Module,
    vm: Vm,
    root: u32,
    loading: Trace,
}

/// What became of a new configuration.
#[derive(Debug)]
pub enum Update {
    /// It is in force.
    Accepted(Trace),
    /// The canary did not take it; the old one is still in force.
    Rejected(Failure),
}

impl HostBuilder {
    /// The configuration of the VM, beside that of the plugin.
    #[must_use]
    pub fn vm_configuration(mut self, configuration: impl Into<Vec<u8>>) -> Self {
        self.environment.vm_configuration = configuration.into();
        self
    }

    /// A property by the parts of its path. Envoy gives integers as 8 bytes, little-endian.
    ///
    /// None are there by themselves.
    #[must_use]
    pub fn property(mut self, path: &[&str], value: impl Into<Vec<u8>>) -> Self {
        let properties = &mut self.environment.properties;
        properties.insert(property_key(path), value.into());
        self
    }

    /// Takes the foreign function `clear_route_cache` away, as in Envoy before 1.33.
    #[must_use]
    pub fn without_clear_route_cache(mut self) -> Self {
        self.environment.has_clear_route_cache = false;
        self
    }

    /// The level that the module is told; info by default. Every line is recorded all the same.
    #[must_use]
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.environment.log_level = level;
        self
    }

    /// Where the random numbers start; 0 by default. The same in every run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.environment.random = Random(seed);
        self
    }

    /// The fuel that each callback may use; by default enough for some seconds.
    #[must_use]
    pub fn fuel(mut self, fuel: u64) -> Self {
        self.environment.fuel = fuel;
        self
    }

    /// Lets a host call fail from the start.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.environment.faults.push(fault);
        self
    }

    /// A proxy of several VMs with these settings, and no VM yet.
    pub fn envoy(self) -> Envoy {
        Envoy::new(self.environment)
    }

    /// Loads the plugin as Envoy does: the configuration is tried in a canary VM, then loaded in
    /// the live one. Where this fails Envoy answers every request with 500, or 503 once the VM has
    /// trapped, unless it is told to let them pass.
    pub fn load(self, configuration: impl AsRef<[u8]>) -> Result<Host, Failure> {
        let configuration = configuration.as_ref().into();
        let (tried, mut environment) = canary(&self.module, self.environment, &configuration);
        if let Err(stop) = tried {
            return Err(stop.with(mem::take(&mut environment.trace)));
        }
        let mut vm = Vm::new(VmKind::Live, &self.module, environment);
        let root = vm.start(&self.module).and_then(|()| vm.open_root(&configuration));
        let loading = mem::take(&mut vm.environment().trace);
        match root {
            Ok(root) => Ok(Host { module: self.module, vm, root, loading }),
            Err(stop) => Err(stop.with(loading)),
        }
    }
}

impl Host {
    /// A host for a module.
    pub fn builder(module: &Module) -> HostBuilder {
        HostBuilder { module: module.clone(), environment: Environment::default() }
    }

    /// What went over the border while the plugin was loaded.
    pub fn loading(&self) -> &Trace {
        &self.loading
    }

    /// Plays a request. A failure leaves the VM unusable, as in Envoy, which then answers 503.
    pub fn request(&mut self, request: &Request) -> Result<Effects, Failure> {
        let played = self.vm.play(self.root, request);
        let ((action, stream), trace) = self.finish(played)?;
        Ok(Effects { action, headers: stream.headers, reply: stream.reply, route_cache: stream.route_cache, trace })
    }

    /// Loads a new configuration as Envoy does: it is tried in a canary VM; then a new root context
    /// takes it in the live VM, and only when that is done the old root context ends.
    ///
    /// What the canary does not take is [rejected](Update::Rejected). A failure in the live VM after
    /// that leaves it unusable.
    pub fn update(&mut self, configuration: impl AsRef<[u8]>) -> Result<Update, Failure> {
        let configuration = configuration.as_ref().into();
        let environment = mem::take(self.vm.environment());
        let (tried, environment) = canary(&self.module, environment, &configuration);
        *self.vm.environment() = environment;
        if let Err(stop) = tried {
            let trace = mem::take(&mut self.vm.environment().trace);
            return Ok(Update::Rejected(stop.with(trace)));
        }
        let updated = self.vm.open_root(&configuration).and_then(|root| {
            let old = mem::replace(&mut self.root, root);
            self.vm.close(old)
        });
        let ((), trace) = self.finish(updated)?;
        Ok(Update::Accepted(trace))
    }

    /// Lets the period pass that the root context asked for, if it asked for one.
    pub fn tick(&mut self) -> Result<Trace, Failure> {
        let Some(period) = self.tick_period() else {
            return Ok(Trace::default());
        };
        let environment = self.vm.environment();
        environment.now += period;
        environment.monotonic += period;
        let ticked = self.vm.tick(self.root);
        let ((), trace) = self.finish(ticked)?;
        Ok(trace)
    }

    /// The period at which the root context asked to be called.
    pub fn tick_period(&self) -> Option<Duration> {
        self.vm.state().tick_periods.get(&self.root).copied()
    }

    /// How many timers the host has for contexts that are gone: it removes none by itself.
    pub fn stray_timers(&self) -> usize {
        let state = self.vm.state();
        state.tick_periods.keys().filter(|context| !state.contexts.alive.contains(context)).count()
    }

    /// The size of the live VM's linear memory in bytes.
    pub fn memory_size(&self) -> usize {
        self.vm.memory_size()
    }

    /// The custom statistics as they are now.
    pub fn metrics(&self) -> &Metrics {
        &self.vm.state().environment.metrics
    }

    /// Lets a host call fail from now on.
    pub fn inject(&mut self, fault: Fault) {
        self.vm.environment().faults.push(fault);
    }

    /// Lets no host call fail from now on.
    pub fn clear_faults(&mut self) {
        self.vm.environment().faults.clear();
    }

    /// Gives a property another value, or takes it away.
    pub fn set_property(&mut self, path: &[&str], value: Option<&[u8]>) {
        let properties = &mut self.vm.environment().properties;
        match value {
            Some(value) => properties.insert(property_key(path), value.to_owned()),
            None => properties.remove(&property_key(path)),
        };
    }

    /// Ends an operation: its result with its trace.
    fn finish<T>(&mut self, result: Result<T, Stop>) -> Result<(T, Trace), Failure> {
        let trace = mem::take(&mut self.vm.environment().trace);
        match result {
            Ok(value) => Ok((value, trace)),
            Err(stop) => Err(stop.with(trace)),
        }
    }
}

/// Tries a configuration in a VM of its own.
fn canary(module: &Module, environment: Environment, configuration: &Arc<[u8]>) -> (Result<(), Stop>, Environment) {
    let mut vm = Vm::new(VmKind::Canary, module, environment);
    let tried = vm.start(module).and_then(|()| vm.open_root(configuration)).map(|_root| ());
    (tried, vm.into_environment())
}
