//! The plugin: holds the table in force.

use std::error::Error;
use std::io::BufReader;
use std::rc::Rc;

use mcwan_policy::RouteTable;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::{ContextType, LogLevel};

use crate::steering::Steering;
use crate::{counters, host};

/// Milliseconds between two reports of the counters.
const TICK_MILLISECONDS: u32 = 5_000;

/// Bytes of a configuration that are read from the host at a time.
const PIECE_BYTES: usize = 16 << 10;

/// One plugin configuration. An update makes a new one and ends this one once its requests are done.
#[derive(Default)]
pub(crate) struct Root {
    table: Option<Rc<RouteTable>>,
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
                self.table = Some(Rc::new(table));
                if host::set_tick_period(TICK_MILLISECONDS).is_err() {
                    host::log(LogLevel::Warn, "mcwan: no tick, so no counters");
                }
                true
            }
            Err(error) => {
                host::log(LogLevel::Error, &format!("mcwan: {error}"));
                false
            }
        }
    }

    fn on_tick(&mut self) {
        counters::flush();
    }

    fn create_http_context(&self, _context_id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Steering::new(self.table.clone())))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
