//! Files of requests.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};
use mcwan_core::explain::Asked;

/// Reads a file with a request on each line; empty lines do not count.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<Asked>> {
    let (name, text) = if file == Path::new("-") {
        ("<stdin>".into(), io::read_to_string(io::stdin().lock()))
    } else {
        (file.to_string_lossy(), fs::read_to_string(file))
    };
    let text = text.with_context(|| format!("cannot read {name}"))?;
    let mut requests = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(request) => requests.push(request),
            Err(error) => bail!("{name}:{}: this is no request: {error}", index + 1),
        }
    }
    Ok(requests)
}
