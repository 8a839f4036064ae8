//! Clusters that share a registry: what they tell each other, and what becomes of it when one of them, or the registry,
//! is away.

mod away;
mod exchange;
mod neighbour;
mod objects;
mod site;
mod split;
mod versions;
mod wan;
