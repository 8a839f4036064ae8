//! Whether the controller is ready.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// What must have happened once before the controller is ready. It never becomes unready again: a
/// replica that cannot reach the API server for a while is none the worse for it than another one.
#[derive(Debug, Default)]
pub struct Health {
    registry_synced: AtomicBool,
    watches_synced: watch::Sender<bool>,
    module_checked: AtomicBool,
}

/// What the controller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// A first full list of every kind in the registry: until then, it is not known what this cluster imports.
    #[error("the registry has not told everything yet")]
    Registry,
    /// A first full list of every kind.
    #[error("not every watch has synced yet")]
    Watches,
    /// The first check of the module, whatever it will say.
    #[error("the module has not been checked yet")]
    Module,
}

impl Health {
    /// Every watch of the registry has had its first full list.
    pub fn registry_synced(&self) {
        self.registry_synced.store(true, Ordering::Relaxed);
    }

    /// Every watch has had its first full list.
    pub fn watches_synced(&self) {
        self.watches_synced.send_replace(true);
    }

    /// Waits until every watch has had its first full list.
    pub async fn until_synced(&self) {
        // It fails where the sender is gone, which we have.
        let _ = self.watches_synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// The module was checked once.
    pub fn module_checked(&self) {
        self.module_checked.store(true, Ordering::Relaxed);
    }

    /// Whether all has happened.
    ///
    /// # Errors
    /// The first thing that has not.
    pub fn ready(&self) -> Result<(), NotReady> {
        if !self.registry_synced.load(Ordering::Relaxed) {
            return Err(NotReady::Registry);
        }
        if !*self.watches_synced.borrow() {
            return Err(NotReady::Watches);
        }
        if !self.module_checked.load(Ordering::Relaxed) {
            return Err(NotReady::Module);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_ready_once_all_has_happened() {
        let health = Health::default();
        assert_eq!(health.ready(), Err(NotReady::Registry));
        health.registry_synced();
        assert_eq!(health.ready(), Err(NotReady::Watches));
        health.module_checked();
        assert_eq!(health.ready(), Err(NotReady::Watches));
        health.watches_synced();
        assert_eq!(health.ready(), Ok(()));
    }
}
