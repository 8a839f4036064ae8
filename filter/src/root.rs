//! The root context: holds the configuration in force.

use std::error::Error;
use std::io::BufReader;
use std::rc::Rc;
use std::time::Duration;

use mcwan_policy::RouteTable;
use mcwan_policy::sla::Moment;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{ContextType, LogLevel};

use crate::host::HostResult;
use crate::plugin::Plugin;
use crate::steering::Steering;
use crate::{counters, host, prober, revision};

/// Between two reports of the counters.
const TICK: Duration = Duration::from_secs(5);

/// After so long a new configuration is reported to be in force: soon, but not by the canary VM
/// in which a proxy tries it, and which ends before it ticks.
const FIRST_TICK: Duration = Duration::from_millis(100);

/// Bytes of a configuration that are read from the host at a time.
const PIECE_BYTES: usize = 16 << 10;

/// One plugin configuration. An update makes a new one and ends this one once its requests are done.
pub(crate) struct Root {
    id: u32,
    plugin: Option<Rc<Plugin>>,
    /// Its revision while the host does not know of it.
    unpublished: Option<u64>,
    /// How often the host says that it ticks.
    period: Option<Duration>,
    /// When the counters were reported, where it ticks more often than that.
    reported: Option<Moment>,
}

impl Root {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, plugin: None, unpublished: None, period: None, reported: None }
    }

    fn load(bytes: usize) -> Result<RouteTable, String> {
        let open = || BufReader::with_capacity(PIECE_BYTES, host::PluginConfiguration::default());
        RouteTable::from_reader(bytes, open).map_err(|error| match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    }

    fn set_period(&mut self, period: Duration) -> HostResult<()> {
        host::set_tick_period(period)?;
        self.period = Some(period);
        Ok(())
    }

    /// Ticks as often as there is something to do. Where the host does not take it, the next tick is the second try.
    fn adapt(&mut self) {
        let period = prober::period(self.id).unwrap_or(TICK);
        if let Some(revision) = self.unpublished {
            let done = revision::publish(revision).and_then(|()| self.set_period(period));
            self.unpublished = done.is_err().then_some(revision);
        } else if self.period != Some(period) {
            let _ = self.set_period(period);
        }
    }

    fn report(&mut self, now: Option<Moment>) {
        let is_due = match (now, self.reported) {
            (Some(now), Some(reported)) => now.since(reported) >= TICK,
            _ => true,
        };
        if is_due {
            self.reported = now;
            counters::flush();
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // The host's timer goes on after its context (Envoy, `Wasm::tickHandler`): one for each configuration there ever was.
        let _ = host::set_tick_period(Duration::ZERO);
        prober::closed(self.id);
    }
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, size: usize) -> bool {
        match Self::load(size) {
            Ok(table) => {
                let plugin = Rc::new(Plugin::new(table));
                self.unpublished = Some(plugin.revision());
                prober::configured(self.id, &plugin);
                self.plugin = Some(plugin);
                if self.set_period(FIRST_TICK).is_err() {
                    host::log(LogLevel::Warn, "mcwan: no tick, so no metrics");
                }
                true
            }
            Err(error) => {
                host::log(LogLevel::Error, &format!("mcwan: {error}"));
                // A host that cannot count is not worth a second line.
                let _ = revision::count_rejected();
                false
            }
        }
    }

    fn on_tick(&mut self) {
        self.adapt();
        let now = prober::tick(self.id);
        self.report(now);
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Steering::new(self.plugin.clone())))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
