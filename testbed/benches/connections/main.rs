//! The numbers that policies of which clusters may use which tier must reach, on two real clusters.
//!
//! What very many policies cost a controller, `bench controller` measures.

mod tightening;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use mcwan_numbers::Options;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let numbers = tightening::numbers().await?;
    Ok(mcwan_numbers::print(&options, &numbers)?)
}
