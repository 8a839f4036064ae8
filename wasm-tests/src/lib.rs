//! A Proxy-Wasm host on wasmtime, to test HTTP filters for Envoy as they ship, without Envoy.
//!
//! It loads a module of ABI 0.2.1 as Envoy does (a canary VM first), plays requests, and returns what
//! the module did with them: headers, local reply, route cache, statistics, log. It counts
//! calls over the border and fuel, can let any host call fail, and updates a configuration as
//! Envoy does. Everything is deterministic: the clock stands still, random numbers are seeded,
//! fuel is the same in every run.
//!
//! ```
//! use mcwan_wasm_tests::{Action, Host, Module, Request};
//!
//! // A filter that answers nothing and changes nothing.
//! let wasm = wat::parse_str(
//!     r#"(module
//!          (memory (export "memory") 1)
//!          (func (export "proxy_abi_version_0_2_1"))
//!          (func (export "proxy_on_memory_allocate") (param i32) (result i32) i32.const 1024)
//!          (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) i32.const 0))"#,
//! )?;
//! let module = Module::new(&wasm)?;
//! let mut host = Host::builder(&module).load("{}")?;
//!
//! let effects = host.request(&Request::get("pay.secure", "/payment"))?;
//! assert_eq!(effects.action, Action::Continue);
//! assert_eq!(effects.headers.get(":path"), Some(&b"/payment"[..]));
//! assert_eq!(effects.trace.border_crossings(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A host call can be made to fail:
//!
//! ```
//! use mcwan_wasm_tests::{Fault, Host, HostCall, Module, Status};
//!
//! # fn test(module: &Module) -> Result<(), Box<dyn std::error::Error>> {
//! let mut host = Host::builder(module).load("{}")?;
//! host.inject(Fault::always(HostCall::GetHeaderMapValue, Status::InternalFailure));
//! # Ok(())
//! # }
//! ```
//!
//! [`Envoy`] is several VMs that share data, with the answers to what they send by themselves.
//!
//! What Envoy does and this host does not: responses, bodies, calls by gRPC, shared queues. The
//! functions for these answer [`Status::Unimplemented`].

mod abi;
mod callback;
mod callout;
mod effects;
mod environment;
mod envoy;
mod failure;
mod fault;
mod headers;
mod host;
mod host_call;
mod metrics;
mod module;
mod request;
mod shared_data;
mod state;
mod status;
mod trace;
mod vm;

pub use callback::Callback;
pub use callout::Callout;
pub use effects::{Action, Effects, LocalReply, RouteCache};
pub use envoy::{Envoy, RootId, VmId};
pub use failure::{Cause, Failure};
pub use fault::Fault;
pub use headers::Headers;
pub use host::{Host, HostBuilder, Update};
pub use host_call::HostCall;
pub use metrics::{Metric, Metrics};
pub use module::{Module, ModuleError};
pub use request::Request;
pub use shared_data::SharedData;
pub use status::Status;
pub use trace::{Call, LogLevel, LogLine, Trace, VmKind};
