//! What the resources mean, and what a cluster is told of it.

mod connection;
mod emission;
mod reading;
mod rollout;
mod translator;
