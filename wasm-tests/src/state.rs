//! What the host calls of one VM work on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wasmtime::{Memory, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::callout::Callouts;
use crate::environment::Environment;
use crate::{Headers, LocalReply, RouteCache, Status};

/// Linear memory that a VM may have, in bytes. More than any sound module needs, less than what
/// would hurt the machine that tests run on.
const MEMORY_LIMIT: usize = 1 << 30;

/// What the host calls of one VM work on.
pub(crate) struct State {
    pub(crate) environment: Environment,
    pub(crate) limits: StoreLimits,
    /// None until the module is instantiated.
    pub(crate) memory: Option<Memory>,
    /// The module's function that allocates memory for the host.
    pub(crate) allocate: Option<TypedFunc<u32, u32>>,
    pub(crate) contexts: Contexts,
    /// The configuration, as long as it may be read.
    pub(crate) configuration: Option<Arc<[u8]>>,
    /// The request that is being played, or an empty one.
    pub(crate) stream: Stream,
    /// The period of each root context that asked for one.
    pub(crate) tick_periods: BTreeMap<u32, Duration>,
    pub(crate) callouts: Callouts,
    /// The names of the metrics that this VM defined; a metric's number is its index plus one.
    pub(crate) metric_names: Vec<String>,
}

/// The contexts of a VM.
#[derive(Default)]
pub(crate) struct Contexts {
    /// Those that exist.
    pub(crate) alive: BTreeSet<u32>,
    /// Those that said on their end that they are not done yet.
    pub(crate) closing: BTreeSet<u32>,
    /// Those of `closing` that have said since that they are.
    pub(crate) closed: Vec<u32>,
    /// The one that the running callback is for.
    pub(crate) current: u32,
    /// The one that the module put in its place.
    pub(crate) effective: Option<u32>,
    last: u32,
}

/// A request that is being played.
#[derive(Default)]
pub(crate) struct Stream {
    /// None where no request is being played.
    context: Option<u32>,
    /// The root context that it belongs to.
    pub(crate) root: u32,
    pub(crate) headers: Headers,
    pub(crate) reply: Option<LocalReply>,
    pub(crate) route_cache: RouteCache,
    /// What the module set; hides the environment's.
    pub(crate) properties: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl State {
    pub(crate) fn new(environment: Environment) -> Self {
        Self {
            environment,
            limits: StoreLimitsBuilder::new().memory_size(MEMORY_LIMIT).build(),
            memory: None,
            allocate: None,
            contexts: Contexts::default(),
            configuration: None,
            stream: Stream::default(),
            tick_periods: BTreeMap::new(),
            callouts: Callouts::default(),
            metric_names: Vec::new(),
        }
    }

    /// The request of the context that the module acts for.
    pub(crate) fn stream(&mut self) -> Option<&mut Stream> {
        let context = self.contexts.acting();
        (self.stream.context == Some(context)).then_some(&mut self.stream)
    }

    /// The name of a metric that this VM defined.
    pub(crate) fn metric_name(&self, number: u32) -> Result<String, Status> {
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let name = index.and_then(|index| self.metric_names.get(index));
        name.cloned().ok_or(Status::NotFound)
    }
}

impl Contexts {
    /// The context that the module acts for.
    pub(crate) fn acting(&self) -> u32 {
        self.effective.filter(|context| self.alive.contains(context)).unwrap_or(self.current)
    }

    /// Takes a new number.
    pub(crate) fn open(&mut self) -> u32 {
        self.last += 1;
        self.alive.insert(self.last);
        self.last
    }
}

impl Stream {
    pub(crate) fn new(context: u32, root: u32, headers: Headers) -> Self {
        Self { context: Some(context), root, headers, ..Self::default() }
    }

    /// The headers, to be changed.
    pub(crate) fn headers_mut(&mut self) -> &mut Headers {
        if self.route_cache == RouteCache::Cleared {
            self.route_cache = RouteCache::ClearedTooEarly;
        }
        &mut self.headers
    }
}
