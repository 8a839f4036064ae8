//! Who has which address: every cluster has a network of its own, all of them are in one.

mod hosts;

use std::fmt;
use std::net::Ipv4Addr;

use anyhow::Result;

use crate::namespace::{Entrance, Namespace};
pub use hosts::{Host, Hosts};

/// The network that all others are in.
pub const EVERYTHING: &str = "10.99.0.0/16";

/// The bridge in a cluster's namespace that its pods are attached to.
const BRIDGE: &str = "mcwan";

/// What the bridge is on its network. One that nobody sets is the lowest of its pods', and changes as they come and go: then
/// what pods send is lost until they have asked for it again.
const BRIDGE_ADDRESS: &str = "02:00:00:00:00:01";

/// A network, 10.99.NUMBER.0/24: that of the cluster with this number, or of something else on the WAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network(u8);

impl Network {
    /// That of a cluster; number 0 is for one that is alone.
    pub const fn of_cluster(number: u8) -> Self {
        Self(number)
    }

    /// The one that an address belongs to.
    pub fn of_address(address: Ipv4Addr) -> Option<Self> {
        let [10, 99, number, _] = address.octets() else { return None };
        Some(Self(number))
    }

    /// The cluster's number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// One of its addresses.
    pub const fn host(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, self.0, number)
    }

    /// The address of the control plane, and of the router to everything else.
    pub const fn control_plane(self) -> Ipv4Addr {
        self.host(1)
    }

    /// Makes the namespace of a cluster: it has the control plane's address, on a bridge for the pods.
    ///
    /// # Errors
    /// See [`Namespace::new`].
    pub async fn make(self) -> Result<Namespace> {
        let namespace = Namespace::new().await?;
        let address = self.control_plane();
        let commands = [
            format!("link add {BRIDGE} address {BRIDGE_ADDRESS} type bridge"),
            format!("address add {address}/24 dev {BRIDGE}"),
            format!("link set {BRIDGE} up"),
        ];
        namespace.ip(&commands).await?;
        namespace.entrance().forward(BRIDGE).await?;
        Ok(namespace)
    }

    /// Makes a namespace with an address of this network; `cluster` is the one that [`Network::make`] made. Everything
    /// that it sends goes there, to its neighbours, too: replies have to pass where an address was translated.
    ///
    /// # Errors
    /// See [`Namespace::new`]; or the address is taken.
    pub async fn attach(self, cluster: &Entrance, host: u8) -> Result<Namespace> {
        let namespace = Namespace::new().await?;
        let outer = format!("pod{host}");
        let commands = [
            format!("link add {outer} type veth peer name eth0 netns {}", namespace.id()),
            format!("link set {outer} master {BRIDGE} up"),
        ];
        cluster.ip(&commands).await?;
        let commands = [
            format!("address add {}/32 dev eth0", self.host(host)),
            "link set eth0 up".to_owned(),
            format!("route add {} dev eth0", self.control_plane()),
            format!("route add default via {}", self.control_plane()),
        ];
        namespace.ip(&commands).await?;
        Ok(namespace)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/24", self.host(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_network() {
        let network = Network::of_cluster(7);
        assert_eq!(Network::of_address(network.host(200)), Some(network));
        assert_eq!(Network::of_address(Ipv4Addr::new(10, 98, 7, 200)), None);
        assert_eq!(Network::of_address(Ipv4Addr::LOCALHOST), None);
        assert_eq!(network.to_string(), "10.99.7.0/24");
    }

    #[tokio::test]
    async fn hosts_of_a_network_reach_each_other() {
        let network = Network::of_cluster(3);
        let cluster = network.make().await.unwrap();
        let one = network.attach(&cluster.entrance(), 10).await.unwrap();
        let two = network.attach(&cluster.entrance(), 11).await.unwrap();
        let address = (network.host(10), 80);
        let listener = one.perform(tokio::net::TcpListener::bind(address)).await.unwrap().unwrap();
        let stream = two.perform(tokio::net::TcpStream::connect(address)).await.unwrap().unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), network.host(10));
        assert!(stream.local_addr().unwrap().port() >= crate::namespace::FIRST_EPHEMERAL_PORT);
        drop(listener);
        two.perform(tokio::net::TcpStream::connect("192.0.2.1:80")).await.unwrap().unwrap_err();
    }
}
