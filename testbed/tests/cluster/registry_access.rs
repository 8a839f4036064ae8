//! `mcwan registry` as the registry's administrator runs it, on a real API server, and what that API server then lets the
//! clusters do.

mod admission;
mod chart;
mod init;
mod join;
mod labels;
mod leave;
mod member;
mod rows;
