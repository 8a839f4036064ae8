//! One instance of a module.

use std::mem;
use std::sync::Arc;

use wasmtime::{Instance, Store, TypedFunc, WasmParams, WasmResults};

use crate::environment::Environment;
use crate::failure::Stop;
use crate::state::{State, Stream};
use crate::trace::{Call, VmKind};
use crate::{Action, Callback, Cause, Headers, Module, Request};

/// One instance of a module, as Envoy has one per worker thread.
pub(crate) struct Vm {
    kind: VmKind,
    store: Store<State>,
    exports: Exports,
    failed: bool,
}

/// A callback that says whether it agrees: to a context, and to as many bytes of configuration.
type Question = TypedFunc<(u32, u32), u32>;

/// A callback that tells of an answer: to a context, its token, and the sizes of its headers, body and trailers.
type Report = TypedFunc<(u32, u32, u32, u32, u32), ()>;

/// The callbacks that the module exports.
#[derive(Default)]
struct Exports {
    initialize: Option<TypedFunc<(), ()>>,
    context_create: Option<TypedFunc<(u32, u32), ()>>,
    vm_start: Option<Question>,
    configure: Option<Question>,
    tick: Option<TypedFunc<u32, ()>>,
    http_call_response: Option<Report>,
    request_headers: Option<TypedFunc<(u32, u32, u32), u32>>,
    log: Option<TypedFunc<u32, ()>>,
    done: Option<TypedFunc<u32, u32>>,
    delete: Option<TypedFunc<u32, ()>>,
}

impl Vm {
    /// A VM that [`start`](Self::start) brings to life.
    pub(crate) fn new(kind: VmKind, module: &Module, environment: Environment) -> Self {
        let mut store = Store::new(module.engine(), State::new(environment));
        store.limiter(|state| &mut state.limits);
        Self { kind, store, exports: Exports::default(), failed: false }
    }

    /// Instantiates the module and initializes it.
    pub(crate) fn start(&mut self, module: &Module) -> Result<(), Stop> {
        if let Err(error) = self.instantiate(module) {
            return Err(self.fail(Callback::Initialize, error.into()));
        }
        self.call(Callback::Initialize, 0, |exports| &exports.initialize, ())?;
        Ok(())
    }

    /// Creates a root context, starts it and gives it its configuration; its number.
    pub(crate) fn open_root(&mut self, configuration: &Arc<[u8]>) -> Result<u32, Stop> {
        let state = self.store.data_mut();
        let root = state.contexts.open();
        let vm_size = guest_size(state.environment.vm_configuration.len());
        let size = guest_size(configuration.len());

        state.configuration = Some(Arc::clone(configuration));
        self.create(root, 0)?;
        self.store.data_mut().configuration = None;
        self.ask(Callback::VmStart, root, |exports| &exports.vm_start, vm_size)?;
        self.store.data_mut().configuration = Some(Arc::clone(configuration));
        self.ask(Callback::Configure, root, |exports| &exports.configure, size)?;
        self.store.data_mut().configuration = None;
        Ok(root)
    }

    /// Ends a context. One that is not done is deleted when it says that it is.
    pub(crate) fn close(&mut self, context: u32) -> Result<(), Stop> {
        let done = self.call(Callback::Done, context, |exports| &exports.done, context)?;
        if done == Some(0) {
            self.store.data_mut().contexts.closing.insert(context);
            return Ok(());
        }
        self.delete(context)
    }

    /// Plays a request up to its end; what it asks for, and what became of it. It is logged before its context
    /// ends, as in Envoy.
    pub(crate) fn play(&mut self, root: u32, request: &Request) -> Result<(Action, Stream), Stop> {
        let state = self.store.data_mut();
        let context = state.contexts.open();
        let headers = request.headers().clone();
        let count = guest_size(headers.len());
        state.stream = Stream::new(context, root, headers);

        self.create(context, root)?;
        let result =
            self.call(Callback::RequestHeaders, context, |exports| &exports.request_headers, (context, count, 1))?;
        self.call(Callback::Log, context, |exports| &exports.log, context)?;
        self.close(context)?;

        let action = match result {
            None | Some(0) => Action::Continue,
            Some(_) => Action::Pause,
        };
        Ok((action, mem::take(&mut self.store.data_mut().stream)))
    }

    pub(crate) fn tick(&mut self, root: u32) -> Result<(), Stop> {
        self.call(Callback::Tick, root, |exports| &exports.tick, root)?;
        Ok(())
    }

    /// Tells of the answer to what the module sent by itself.
    pub(crate) fn answer(&mut self, root: u32, token: u32, headers: Headers) -> Result<(), Stop> {
        let callouts = &mut self.store.data_mut().callouts;
        callouts.take(token);
        let told = (root, token, guest_size(headers.len()), 0, 0);
        callouts.answer = Some(headers);
        self.call(Callback::HttpCallResponse, root, |exports| &exports.http_call_response, told)?;
        self.store.data_mut().callouts.answer = None;
        Ok(())
    }

    pub(crate) fn state(&self) -> &State {
        self.store.data()
    }

    pub(crate) fn environment(&mut self) -> &mut Environment {
        &mut self.store.data_mut().environment
    }

    pub(crate) fn into_environment(self) -> Environment {
        self.store.into_data().environment
    }

    /// The size of the linear memory in bytes.
    pub(crate) fn memory_size(&self) -> usize {
        let memory = self.store.data().memory;
        memory.map_or(0, |memory| memory.data_size(&self.store))
    }

    fn instantiate(&mut self, module: &Module) -> wasmtime::Result<()> {
        let instance = module.prepared().instantiate(&mut self.store)?;
        let store = &mut self.store;
        let memory = instance.get_memory(&mut *store, "memory");
        let allocate = match typed(&instance, store, "malloc")? {
            Some(malloc) => Some(malloc),
            None => typed(&instance, store, "proxy_on_memory_allocate")?,
        };
        self.exports = Exports {
            initialize: typed(&instance, store, Callback::Initialize.export())?,
            context_create: typed(&instance, store, Callback::ContextCreate.export())?,
            vm_start: typed(&instance, store, Callback::VmStart.export())?,
            configure: typed(&instance, store, Callback::Configure.export())?,
            tick: typed(&instance, store, Callback::Tick.export())?,
            http_call_response: typed(&instance, store, Callback::HttpCallResponse.export())?,
            request_headers: typed(&instance, store, Callback::RequestHeaders.export())?,
            log: typed(&instance, store, Callback::Log.export())?,
            done: typed(&instance, store, Callback::Done.export())?,
            delete: typed(&instance, store, Callback::Delete.export())?,
        };
        let state = store.data_mut();
        state.memory = memory;
        state.allocate = allocate;
        Ok(())
    }

    fn create(&mut self, context: u32, parent: u32) -> Result<(), Stop> {
        self.call(Callback::ContextCreate, context, |exports| &exports.context_create, (context, parent))?;
        Ok(())
    }

    fn delete(&mut self, context: u32) -> Result<(), Stop> {
        self.call(Callback::Delete, context, |exports| &exports.delete, context)?;
        let state = self.store.data_mut();
        // Its timer goes on, as with Envoy.
        state.contexts.alive.remove(&context);
        state.callouts.cancel(context);
        Ok(())
    }

    /// Calls a function that says whether it agrees; one that is not exported does.
    fn ask(
        &mut self,
        callback: Callback,
        context: u32,
        function: fn(&Exports) -> &Option<Question>,
        size: u32,
    ) -> Result<(), Stop> {
        match self.call(callback, context, function, (context, size))? {
            Some(0) => Err(self.fail(callback, Cause::Refused)),
            _ => Ok(()),
        }
    }

    /// Calls a function of the module, if it exports it, and then deletes what said in the
    /// meantime that it is done.
    fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        callback: Callback,
        context: u32,
        function: fn(&Exports) -> &Option<TypedFunc<P, R>>,
        parameters: P,
    ) -> Result<Option<R>, Stop> {
        if self.failed {
            return Err(self.fail(callback, Cause::Unusable));
        }
        let Some(function) = function(&self.exports).clone() else {
            return Ok(None);
        };
        match self.run(callback, context, &function, parameters) {
            Ok(result) => {
                while let Some(context) = self.store.data_mut().contexts.closed.pop() {
                    self.delete(context)?;
                }
                Ok(Some(result))
            }
            Err(error) => Err(self.fail(callback, error.into())),
        }
    }

    fn run<P: WasmParams, R: WasmResults>(
        &mut self,
        callback: Callback,
        context: u32,
        function: &TypedFunc<P, R>,
        parameters: P,
    ) -> wasmtime::Result<R> {
        let contexts = &mut self.store.data_mut().contexts;
        contexts.current = context;
        contexts.effective = None;
        let limit = self.store.data().environment.fuel;
        self.store.set_fuel(limit)?;
        let result = function.call(&mut self.store, parameters);
        let call = Call { vm: self.kind, callback, context, fuel: limit - self.store.get_fuel()? };
        self.environment().trace.callbacks.push(call);
        result
    }

    fn fail(&mut self, callback: Callback, cause: Cause) -> Stop {
        self.failed = true;
        Stop { callback, cause }
    }
}

/// An export as a function of that type, if there is one.
fn typed<P: WasmParams, R: WasmResults>(
    instance: &Instance,
    store: &mut Store<State>,
    name: &str,
) -> wasmtime::Result<Option<TypedFunc<P, R>>> {
    let function = instance.get_func(&mut *store, name);
    function.map(|function| function.typed(&*store)).transpose()
}

/// A size as the module sees it. None is ever too large: the bytes would not fit its memory.
fn guest_size(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
