//! The command `mcwan`.

fn main() {}
