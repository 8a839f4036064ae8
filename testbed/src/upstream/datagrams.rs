//! Who answers datagrams by his name.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

/// Answers each datagram of UDP with its name. It ends with this.
#[derive(Debug)]
pub struct Datagrams(AbortHandle);

impl Datagrams {
    /// Starts to answer.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn start(address: SocketAddr, name: String) -> Result<Self> {
        let socket = UdpSocket::bind(address).await?;
        let answering = tokio::spawn(async move {
            loop {
                // What it is sent is not looked at, and an answer that cannot be sent is a matter of its client.
                if let Ok((_, from)) = socket.recv_from(&mut [0]).await {
                    let _ = socket.send_to(name.as_bytes(), from).await;
                }
            }
        });
        Ok(Self(answering.abort_handle()))
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        self.0.abort();
    }
}
