//! A proxy of several VMs.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use crate::environment::Environment;
use crate::failure::Stop;
use crate::trace::VmKind;
use crate::vm::Vm;
use crate::{Callout, Effects, Failure, Fault, Headers, Metrics, Module, Request, SharedData, Trace};

/// A proxy of several VMs, as Envoy has one for each thread and module. They share data, statistics, and the clock, which
/// stands still unless it is moved. Nothing happens by itself: who plays with it ticks, answers what was sent, and ends.
///
/// Configurations are not tried in a canary VM: that is [`Host`](crate::Host)'s.
pub struct Envoy {
    environment: Environment,
    vms: BTreeMap<VmId, Vm>,
    last: u32,
}

/// One of the VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(u32);

/// A root context: one configuration in one VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RootId {
    /// The VM that it is in.
    pub vm: VmId,
    context: u32,
}

impl Envoy {
    /// One without VMs.
    pub(crate) fn new(environment: Environment) -> Self {
        Self { environment, vms: BTreeMap::new(), last: 0 }
    }

    /// Starts a VM with a configuration.
    pub fn start(&mut self, module: &Module, configuration: impl AsRef<[u8]>) -> Result<RootId, Failure> {
        self.last += 1;
        let id = VmId(self.last);
        self.vms.insert(id, Vm::new(VmKind::Live, module, Environment::default()));
        self.run(id, |vm| vm.start(module))?;
        self.configure(id, configuration)
    }

    /// Gives a VM one more root context, with a configuration of its own. Those that it has drain.
    pub fn configure(&mut self, vm: VmId, configuration: impl AsRef<[u8]>) -> Result<RootId, Failure> {
        let configuration = configuration.as_ref().into();
        let (context, _) = self.run(vm, |vm| vm.open_root(&configuration))?;
        Ok(RootId { vm, context })
    }

    /// Ends a root context. Nobody is told of the answers that it waits for.
    pub fn close(&mut self, root: RootId) -> Result<Trace, Failure> {
        self.run(root.vm, |vm| vm.close(root.context)).map(|((), trace)| trace)
    }

    /// Ends a VM without a word.
    pub fn kill(&mut self, vm: VmId) {
        self.vms.remove(&vm);
    }

    /// Calls a root context as if its period had passed.
    pub fn tick(&mut self, root: RootId) -> Result<Trace, Failure> {
        self.run(root.vm, |vm| vm.tick(root.context)).map(|((), trace)| trace)
    }

    /// The period at which a root context asked to be called.
    pub fn tick_period(&self, root: RootId) -> Option<Duration> {
        self.vms.get(&root.vm)?.state().tick_periods.get(&root.context).copied()
    }

    /// Plays a request.
    pub fn request(&mut self, root: RootId, request: &Request) -> Result<Effects, Failure> {
        let ((action, stream), trace) = self.run(root.vm, |vm| vm.play(root.context, request))?;
        Ok(Effects { action, headers: stream.headers, reply: stream.reply, route_cache: stream.route_cache, trace })
    }

    /// What a VM has sent and is not answered yet.
    pub fn callouts(&self, vm: VmId) -> &[Callout] {
        self.vms.get(&vm).map_or(&[], |vm| &vm.state().callouts.waiting)
    }

    /// Tells a root context of the answer to what it sent; no header at all: the connection was cut. It is told of answers
    /// to what was never sent, too.
    pub fn answer(&mut self, root: RootId, token: u32, headers: Headers) -> Result<Trace, Failure> {
        self.run(root.vm, |vm| vm.answer(root.context, token, headers)).map(|((), trace)| trace)
    }

    /// The root context that waits for an answer.
    pub fn root_of(&self, vm: VmId, callout: &Callout) -> RootId {
        RootId { vm, context: callout.root }
    }

    /// Takes a cluster away, or gives it back: nothing can be sent through one that is not there.
    pub fn set_cluster(&mut self, cluster: &str, is_there: bool) {
        let missing = &mut self.environment.clusters.missing;
        if is_there {
            missing.remove(cluster)
        } else {
            missing.insert(cluster.to_owned())
        };
    }

    /// The monotonic clock.
    pub fn monotonic(&self) -> Duration {
        self.environment.monotonic
    }

    /// Sets the monotonic clock, to any time.
    pub fn set_monotonic(&mut self, now: Duration) {
        self.environment.monotonic = now;
    }

    /// The data that VMs share.
    pub fn shared_data(&mut self) -> &mut SharedData {
        &mut self.environment.shared_data
    }

    /// The size of a VM's linear memory in bytes; 0 where it is gone.
    pub fn memory_size(&self, vm: VmId) -> usize {
        self.vms.get(&vm).map_or(0, Vm::memory_size)
    }

    /// The custom statistics as they are now.
    pub fn metrics(&self) -> &Metrics {
        &self.environment.metrics
    }

    /// Lets a host call fail from now on.
    pub fn inject(&mut self, fault: Fault) {
        self.environment.faults.push(fault);
    }

    /// Lets no host call fail from now on.
    pub fn clear_faults(&mut self) {
        self.environment.faults.clear();
    }

    /// Lets a VM do something in the proxy's environment.
    fn run<T>(&mut self, id: VmId, work: impl FnOnce(&mut Vm) -> Result<T, Stop>) -> Result<(T, Trace), Failure> {
        let Some(vm) = self.vms.get_mut(&id) else {
            return Err(Stop::gone().with(Trace::default()));
        };
        mem::swap(vm.environment(), &mut self.environment);
        let result = work(vm);
        mem::swap(vm.environment(), &mut self.environment);
        let trace = mem::take(&mut self.environment.trace);
        match result {
            Ok(value) => Ok((value, trace)),
            Err(stop) => Err(stop.with(trace)),
        }
    }
}
