//! Loopback addresses, one for each environment.
//!
//! All of 127.0.0.0/8 is local on Linux. With an address of its own an environment can use the
//! real ports of its example while another one does the same beside it.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};

/// Whoever listens on this port of an address has the address. It is above the ports that Linux
/// hands out by itself.
const CLAIM_PORT: u16 = 61111;

/// How many addresses are tried.
const ATTEMPTS: u32 = 1000;

/// A loopback address that nobody else gets from this module, in this process or in another one,
/// until it is dropped.
#[derive(Debug)]
pub struct Loopback {
    address: Ipv4Addr,
    _claim: TcpListener,
}

impl Loopback {
    /// Takes a free address.
    ///
    /// # Errors
    /// None is free, or this machine does not let us listen on loopback addresses.
    pub fn take() -> io::Result<Self> {
        let start = RandomState::new().build_hasher().finish();
        for attempt in 0..u64::from(ATTEMPTS) {
            let [.., x, y, z] = start.wrapping_add(attempt).to_be_bytes();
            // 127.64.0.0/10: far from 127.0.0.1 and from the other addresses that systems use.
            let address = Ipv4Addr::new(127, 64 | x & 63, y, z);
            match TcpListener::bind((address, CLAIM_PORT)) {
                Ok(claim) => return Ok(Self { address, _claim: claim }),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AddrInUse, "no loopback address is free"))
    }

    /// The address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn addresses_are_loopback_and_nobody_elses() {
        let taken: Vec<_> = (0..100).map(|_| Loopback::take().unwrap()).collect();
        let addresses: BTreeSet<_> = taken.iter().map(Loopback::address).collect();
        assert_eq!(addresses.len(), taken.len());
        assert!(addresses.iter().all(Ipv4Addr::is_loopback));
    }

    #[test]
    fn an_address_that_is_dropped_is_free_again() {
        let address = Loopback::take().unwrap().address();
        TcpListener::bind((address, CLAIM_PORT)).unwrap();
    }
}
