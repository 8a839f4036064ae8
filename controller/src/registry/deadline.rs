//! Waiting for what an API server does in its own time.

use std::time::Duration;

use tokio::time::{interval, timeout};

/// How often it is looked at: a person waits, and what is waited for takes a fraction of a second.
const PERIOD: Duration = Duration::from_millis(100);

/// Looks until something is found; none if that is not before the deadline.
///
/// # Errors
/// Looking fails.
pub(super) async fn until<T, E>(
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let mut ticks = interval(PERIOD);
    let wait = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await? {
                return Ok(found);
            }
        }
    };
    timeout(deadline, wait).await.map_or(Ok(None), |result| result.map(Some))
}
