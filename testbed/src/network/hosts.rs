//! The hosts of a cluster: its pods, and whoever else has an address there.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use super::Network;
use crate::namespace::{Entrance, Namespace};

/// The last parts of the addresses that hosts get.
const FIRST: u8 = 10;
const LAST: u8 = 249;

/// What gives hosts their addresses. An address that was given back is the last to be given again.
#[derive(Clone, Debug)]
pub struct Hosts {
    network: Network,
    cluster: Entrance,
    pool: Arc<Mutex<Pool>>,
}

/// A host: a namespace of its own, attached to the cluster's. It is gone when this is dropped.
#[derive(Debug)]
pub struct Host {
    namespace: Namespace,
    address: Ipv4Addr,
    _number: Number,
}

#[derive(Debug)]
struct Pool {
    next: u8,
    taken: BTreeSet<u8>,
}

/// A taken number, given back when this is dropped.
#[derive(Debug)]
struct Number {
    number: u8,
    pool: Arc<Mutex<Pool>>,
}

impl Hosts {
    /// The hosts of the cluster whose namespace [`Network::make`] made.
    pub fn new(network: Network, cluster: Entrance) -> Self {
        let pool = Pool { next: FIRST, taken: BTreeSet::new() };
        Self { network, cluster, pool: Arc::new(Mutex::new(pool)) }
    }

    /// Makes a host.
    ///
    /// # Errors
    /// All addresses are taken, or see [`Network::attach`].
    pub async fn attach(&self) -> Result<Host> {
        let number =
            Number::take(&self.pool).with_context(|| format!("all addresses of {} are taken", self.network))?;
        let namespace = self.network.attach(&self.cluster, number.number).await?;
        Ok(Host { namespace, address: self.network.host(number.number), _number: number })
    }

    /// The network that they are in.
    pub fn network(&self) -> Network {
        self.network
    }
}

impl Host {
    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}

impl Number {
    fn take(shared: &Arc<Mutex<Pool>>) -> Option<Self> {
        let mut pool = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut candidates = (pool.next..=LAST).chain(FIRST..pool.next);
        let number = candidates.find(|number| !pool.taken.contains(number))?;
        pool.taken.insert(number);
        pool.next = if number == LAST { FIRST } else { number + 1 };
        Some(Self { number, pool: Arc::clone(shared) })
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_given_back_comes_last() {
        let pool = Arc::new(Mutex::new(Pool { next: FIRST, taken: BTreeSet::new() }));
        let kept = Number::take(&pool).unwrap();
        drop(Number::take(&pool).unwrap());
        let all: Vec<_> = std::iter::from_fn(|| Number::take(&pool)).collect();
        assert_eq!(all.len(), usize::from(LAST - FIRST));
        assert_eq!(all.last().unwrap().number, FIRST + 1);
        drop(kept);
        assert_eq!(Number::take(&pool).unwrap().number, FIRST);
    }
}
