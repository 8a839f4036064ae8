//! Waiting for a condition, never for a time.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep, timeout};

/// How long at least nobody looks at a condition after it did not hold, and no less than the look took: who asks a server all
/// the time takes the cores from those who bring the condition about, and a look may be a program that is started.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// Waits until `condition` holds. `what` says what that means, for the error.
///
/// # Errors
/// It fails, or does not hold before the deadline.
pub async fn until(deadline: Duration, what: &str, mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let wait = async {
        let mut start = Instant::now();
        while !condition().await? {
            sleep(LEAST_PAUSE.max(start.elapsed())).await;
            start = Instant::now();
        }
        Ok(())
    };
    match timeout(deadline, wait).await {
        Ok(result) => result,
        Err(_) => bail!("waited {deadline:?} in vain until {what}"),
    }
}
