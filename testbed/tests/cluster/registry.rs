//! Clusters that share a registry: what they tell each other, and what becomes of it when one of them, or the registry,
//! is away.

mod away;
mod exchange;
mod made;
mod neighbour;
mod objects;
mod split;
mod versions;
mod wan;
