//! Waiting for a condition, never for a time.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{interval, timeout};

/// How often a condition is looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// Waits until `condition` holds. `what` says what that means, for the error.
///
/// # Errors
/// It fails, or does not hold before the deadline.
pub async fn until(deadline: Duration, what: &str, mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let mut ticks = interval(PERIOD);
    let wait = async {
        loop {
            ticks.tick().await;
            if condition().await? {
                return Ok(());
            }
        }
    };
    match timeout(deadline, wait).await {
        Ok(result) => result,
        Err(_) => bail!("waited {deadline:?} in vain until {what}"),
    }
}
