//! Files of requests.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};

use crate::explain::Asked;

/// Reads a file with a request on each line; empty lines do not count.
pub(super) fn read(file: &Path) -> anyhow::Result<Vec<Asked>> {
    let text = if file == Path::new("-") { io::read_to_string(io::stdin().lock()) } else { fs::read_to_string(file) };
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    let mut requests = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(request) => requests.push(request),
            Err(error) => bail!("{}:{}: no request: {error}", file.display(), index + 1),
        }
    }
    Ok(requests)
}
