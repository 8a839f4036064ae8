//! Connections that are served as they come.

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Serves every connection. All end with this.
#[derive(Debug)]
pub(super) struct Connections(AbortHandle);

impl Connections {
    /// Starts to accept.
    pub(super) fn accept<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        // A failed accept is the connection's misfortune, not ours.
                        if let Ok((stream, _)) = accepted {
                            connections.spawn(serve(stream));
                        }
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Self(accepting.abort_handle())
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.abort();
    }
}
