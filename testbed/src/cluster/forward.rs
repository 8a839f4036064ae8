//! A way into a namespace, connection by connection.

use std::io;
use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Forwards what `listener` accepts to `to`. The listener may be of another namespace than the
/// caller, in which `to` is: sockets stay where they were made.
///
/// Runs until the caller's runtime ends, or it is aborted.
///
/// # Errors
/// The listener cannot be made ready.
pub(crate) fn forward(listener: std::net::TcpListener, to: SocketAddr) -> io::Result<AbortHandle> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let accepting = tokio::spawn(async move {
        while let Ok((outer, _)) = listener.accept().await {
            tokio::spawn(relay(outer, to));
        }
    });
    Ok(accepting.abort_handle())
}

/// Whatever goes wrong ends the connection, which is all that the ends can be told.
async fn relay(mut outer: TcpStream, to: SocketAddr) -> io::Result<()> {
    let mut inner = TcpStream::connect(to).await?;
    outer.set_nodelay(true)?;
    inner.set_nodelay(true)?;
    copy_bidirectional(&mut outer, &mut inner).await?;
    Ok(())
}
