//! The ports that gateways listen on.

use crate::host::port_of;
use crate::request::Request;

/// Ports that a gateway pod needs for itself (Istio, "Application Requirements"): Envoy's admin server, the agent's
/// debug server, its metrics, its health and Envoy's metrics.
const RESERVED_PORTS: [u16; 5] = [15_000, 15_004, 15_020, 15_021, 15_090];
/// How far from a reserved port the listener is that stands in for it.
const STAND_IN: u16 = 50_000;

/// Whether a gateway cannot listen on a port.
pub fn is_reserved_port(port: u16) -> bool {
    RESERVED_PORTS.contains(&port)
}

/// The port of the listener for a port that clients use.
pub fn listener_port(port: u16) -> u16 {
    if is_reserved_port(port) { port.wrapping_add(STAND_IN) } else { port }
}

/// The port that a client uses; none where nobody knows. Where its listener may stand in for another port, the authority
/// tells: neither is a default port, so clients name the one that they use.
pub(crate) fn client_port<R: Request>(request: &R) -> Result<Option<u16>, R::Error> {
    let Some(listener) = request.port()? else { return Ok(None) };
    let authority = request.authority()?.unwrap_or_default();
    Ok(Some(port_behind(listener, str::from_utf8(&authority).unwrap_or_default())))
}

fn port_behind(listener: u16, authority: &str) -> u16 {
    let behind = listener.checked_sub(STAND_IN).filter(|port| is_reserved_port(*port));
    behind.filter(|_| port_of(authority) != Some(listener)).unwrap_or(listener)
}
