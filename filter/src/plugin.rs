//! A configuration in force: its table, and the levels of its paths.

use std::cell::RefCell;

use mcwan_policy::sla::{Level, Levels, PathId};
use mcwan_policy::{Decision, Request, RouteTable, WanPath};

use crate::draw;

/// A configuration in force.
pub(crate) struct Plugin {
    table: RouteTable,
    /// In the order of the table's paths.
    paths: Box<[PathId]>,
    levels: RefCell<Box<[Level]>>,
}

impl Plugin {
    pub(crate) fn new(table: RouteTable) -> Self {
        let paths = table.paths().iter().map(|path| PathId::new(&path.tier, &path.cluster, &path.namespace)).collect();
        let levels = RefCell::new(table.paths().iter().map(|_| Level::In).collect());
        Self { table, paths, levels }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.table.revision().unwrap_or_default()
    }

    /// What is measured for it.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (PathId, &WanPath)> {
        self.paths.iter().copied().zip(self.table.paths())
    }

    pub(crate) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Decides by these levels from now on.
    pub(crate) fn set_levels(&self, level: impl Fn(PathId, usize) -> Level) {
        for (place, (known, path)) in self.levels.borrow_mut().iter_mut().zip(&self.paths).enumerate() {
            *known = level(*path, place);
        }
    }

    pub(crate) fn decide<R: Request>(&self, request: &R) -> Result<Decision<'_>, R::Error> {
        self.table.decide(request, Levels::new(&self.levels.borrow()), draw::draw)
    }
}
