//! Whether the controller lives, and is ready.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// How long one turn of the main loop may take. It waits for no answer longer than a quarter of that, so that whoever takes
/// longer waits for something that does not come.
const TURN: Duration = Duration::from_mins(1);
/// How often the main loop turns where nothing happens: often enough that two turns in a row may be late.
pub const IDLE_TURN: Duration = Duration::from_secs(20);

/// What must have happened once before the controller is ready. It never becomes unready again: a
/// replica that cannot reach the API server for a while is none the worse for it than another one.
#[derive(Debug, Default)]
pub struct Health {
    registry_synced: AtomicBool,
    watches_synced: watch::Sender<bool>,
    module_checked: AtomicBool,
    /// When the main loop last turned; none: it has not begun.
    turned: Mutex<Option<Instant>>,
}

/// The main loop is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the main loop has not turned for {} seconds", .0.as_secs())]
pub struct Stuck(Duration);

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

    /// The main loop has turned once more.
    pub fn turned(&self, now: Instant) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Whether the main loop turns. Before it has begun, the controller waits for an API server, as long as that takes.
    ///
    /// # Errors
    /// It has not for too long.
    pub fn alive(&self, now: Instant) -> Result<(), Stuck> {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        let since = turned.map(|turned| now.saturating_duration_since(turned)).unwrap_or_default();
        if since > TURN { Err(Stuck(since)) } else { Ok(()) }
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
    fn it_lives_while_the_loop_turns() {
        let (health, start) = (Health::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(health.alive(at(600)), Ok(()), "it waits for the API server");
        health.turned(start);
        assert_eq!(health.alive(at(60)), Ok(()), "for a minute");
        let stuck = health.alive(at(61)).expect_err("no longer");
        assert_eq!(stuck.to_string(), "the main loop has not turned for 61 seconds");
        health.turned(at(62));
        assert_eq!(health.alive(at(63)), Ok(()), "it turns again");
        const { assert!(IDLE_TURN.as_secs() * 3 <= TURN.as_secs()) };
    }

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
