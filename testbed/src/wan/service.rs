//! Where a Service leads, as kube-proxy has it.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::api::ListParams;
use kube::{Api, Client};

/// The label by which a slice belongs to a Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// The ready endpoints of a port of a Service, in the order of their addresses; none where the Service has none, or is
/// not there.
pub(super) async fn endpoints(client: &Client, namespace: &str, name: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let Some(service) = services.get_opt(name).await? else { return Ok(Vec::new()) };
    let spec = service.spec.unwrap_or_default();
    let ports = spec.ports.unwrap_or_default();
    let port_name = ports.iter().find(|known| known.port == i32::from(port));
    let port_name = port_name.with_context(|| format!("Service {namespace}/{name} has no port {port}"))?.name.clone();
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let slices = slices.list(&ListParams::default().labels(&format!("{SERVICE_LABEL}={name}"))).await?;
    let mut found = Vec::new();
    for slice in slices {
        let mut ports = slice.ports.iter().flatten();
        let port =
            ports.find(|known| known.name.as_deref().unwrap_or_default() == port_name.as_deref().unwrap_or_default());
        let Some(port) = port.and_then(|port| port.port).and_then(|port| u16::try_from(port).ok()) else { continue };
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| is_ready(endpoint));
        let addresses = ready.flat_map(|endpoint| &endpoint.addresses).filter_map(|address| address.parse().ok());
        found.extend(addresses.map(|address: IpAddr| SocketAddr::from((address, port))));
    }
    found.sort_unstable();
    Ok(found)
}

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
}
