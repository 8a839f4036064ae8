//! Which tiers requests have taken, as the WAN has seen it.

use anyhow::{Context, Result, ensure};
use mcwan_testbed::echo::Seen;
use mcwan_testbed::wan::Recording;

/// Makes sure that what crossed from cluster 2 to another one used the ports that are due, where any is. Gives how many
/// requests did.
pub(crate) fn ports_are_due(recording: &Recording, to: u8, due: impl Fn(&Seen) -> Option<u16>) -> Result<usize> {
    ensure!(recording.is_whole(), "too much crossed to be recorded");
    let mut count = 0;
    for speech in recording.speeches(2, to) {
        for request in speech.requests().context("something else than requests crossed")? {
            let Some(port) = due(&request) else { continue };
            ensure!(
                speech.port == port,
                "{} took port {}, not {port}: {:?}",
                request.path,
                speech.port,
                request.headers
            );
            count += 1;
        }
    }
    Ok(count)
}
