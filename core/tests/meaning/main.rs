//! What the resources mean, and what a cluster is told of it.

mod emission;
mod reading;
mod rollout;
mod translator;
