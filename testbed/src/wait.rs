//! Waiting for a condition, never for a time.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{sleep, timeout};

/// How long nobody looks at a condition after it did not hold: who asks a server without a pause takes the cores from those who
/// bring the condition about.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until `condition` holds. `what` says what that means, for the error.
///
/// # Errors
/// It fails, or does not hold before the deadline.
pub async fn until(deadline: Duration, what: &str, mut condition: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let wait = async {
        while !condition().await? {
            sleep(PAUSE).await;
        }
        Ok(())
    };
    match timeout(deadline, wait).await {
        Ok(result) => result,
        Err(_) => bail!("waited {deadline:?} in vain until {what}"),
    }
}
