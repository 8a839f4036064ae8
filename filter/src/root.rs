//! The plugin: holds the table in force.

use std::error::Error;
use std::io::BufReader;
use std::rc::Rc;

use mcwan_policy::RouteTable;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{ContextType, LogLevel};

use crate::steering::Steering;
use crate::{counters, host, revision};

/// Milliseconds between two reports of the counters.
const TICK_MILLISECONDS: u32 = 5_000;

/// Milliseconds after which a new configuration is reported to be in force: soon, but not by the canary VM
/// in which a proxy tries it, and which ends before it ticks.
const FIRST_TICK_MILLISECONDS: u32 = 100;

/// Bytes of a configuration that are read from the host at a time.
const PIECE_BYTES: usize = 16 << 10;

/// One plugin configuration. An update makes a new one and ends this one once its requests are done.
#[derive(Default)]
pub(crate) struct Root {
    table: Option<Rc<RouteTable>>,
    /// The table's revision while the host does not know of it.
    unpublished: Option<u64>,
}

impl Root {
    fn load(bytes: usize) -> Result<RouteTable, String> {
        let open = || BufReader::with_capacity(PIECE_BYTES, host::PluginConfiguration::default());
        RouteTable::from_reader(bytes, open).map_err(|error| match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    }
}

impl Context for Root {}

impl RootContext for Root {
    fn on_configure(&mut self, size: usize) -> bool {
        match Self::load(size) {
            Ok(table) => {
                self.unpublished = Some(table.revision().unwrap_or_default());
                self.table = Some(Rc::new(table));
                if host::set_tick_period(FIRST_TICK_MILLISECONDS).is_err() {
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
        if let Some(revision) = self.unpublished {
            // Where one of these fails, the next tick is the second try.
            let done = revision::publish(revision).and_then(|()| host::set_tick_period(TICK_MILLISECONDS));
            self.unpublished = done.is_err().then_some(revision);
        }
        counters::flush();
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Steering::new(self.table.clone())))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
