//! The examples: what they say holds, and on the wire every request uses its tier's port and no other.

use anyhow::{Result, ensure};
use mcwan_testbed::example::Example;
use mcwan_testbed::wan::TestWan;
use mcwan_testbed::wan::play::Play;

/// Plays an example; everything is as it says.
pub(crate) async fn plays(wan: &TestWan, name: &str) -> Result<Play> {
    let example = Example::load(name)?;
    let play = Play::set_up(wan, &example).await?;
    play.converge(wan, &example).await?;
    let mut faults = Vec::new();
    for case in &example.cases {
        let performance = play.perform(wan, case).await?.performance;
        faults.extend(performance.faults.iter().map(|fault| format!("{name}: {}: {fault}", case.name)));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(play)
}
