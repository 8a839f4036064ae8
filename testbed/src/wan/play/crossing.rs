//! How a request crossed the WAN, and where it arrived.

use std::collections::BTreeMap;

use mcwan_core::snapshot::Key;
use mcwan_policy::{PORT_HEADER, STEERING_HEADER};

use super::cast::{Cast, EXPORTER};
use crate::client::Response;
use crate::echo::Seen;
use crate::example::Destination;
use crate::wan::{Recording, TestWan};

/// The requests on the WAN while one was under way.
pub(super) struct Crossing {
    /// By connection: its port, and what was said; none: something that is no request.
    speeches: Vec<(u16, Option<Vec<Seen>>)>,
}

/// Where requests arrive.
#[derive(Clone, Copy)]
pub(super) struct Receivers<'p> {
    pub(super) wan: &'p TestWan,
    pub(super) importer: u8,
    pub(super) cast: &'p Cast,
}

impl Crossing {
    /// What a recording has between two clusters.
    pub(super) fn read(recording: &Recording, from: u8, to: u8) -> Self {
        let speeches = recording.speeches(from, to).into_iter();
        Self { speeches: speeches.map(|speech| (speech.port, speech.requests())).collect() }
    }

    /// Whether nothing but one of these tiers was used.
    pub(super) fn is_allowed(&self, tiers: &BTreeMap<u16, String>, allowed: &[&str]) -> bool {
        let is_allowed = |port| tiers.get(port).is_some_and(|tier| allowed.contains(&&**tier));
        self.speeches.iter().all(|(port, _)| is_allowed(port)) && self.speeches.len() <= 1
    }

    /// The ports in words.
    pub(super) fn ports(&self, tiers: &BTreeMap<u16, String>) -> String {
        let name = |port| tiers.get(port).map_or_else(|| format!("port {port}"), Clone::clone);
        let names: Vec<_> = self.speeches.iter().map(|(port, _)| name(port)).collect();
        if names.is_empty() { "no port".to_owned() } else { names.join(", ") }
    }
}

impl Receivers<'_> {
    /// Where a request arrived that was answered so, and what it looked like to the far gateway, or to the Service of
    /// this cluster. None: nowhere.
    pub(super) fn arrival(
        self,
        response: &Response,
        crossing: &Crossing,
        faults: &mut Vec<String>,
    ) -> Option<(Destination, Seen)> {
        let (name, seen) = (response.echo_name()?, response.seen()?);
        let tiers = &self.cast.tiers;
        if let Some(service) = service_of(&self.wan.cluster(self.importer).id(), &name, &self.cast.services) {
            if !crossing.speeches.is_empty() {
                faults.push(format!("it did not leave the cluster, and used {}", crossing.ports(tiers)));
            }
            let Key { namespace, name } = service;
            return Some((Destination::Service { namespace: namespace.to_string(), name: name.to_string() }, seen));
        }
        let Some(service) = service_of(&self.wan.cluster(EXPORTER).id(), &name, &self.cast.foreign) else {
            faults.push(format!("{name} answered, which nobody exports"));
            return None;
        };
        let [(port, Some(requests))] = &*crossing.speeches else {
            faults.push(format!("{name} answered, and it used {}", crossing.ports(tiers)));
            return None;
        };
        let (Some(tier), [request]) = (tiers.get(port), &**requests) else {
            faults.push(format!("{name} answered, and {} requests used port {port}", requests.len()));
            return None;
        };
        behind_the_gateway(service, request, &seen, faults);
        Some((Destination::Tier(tier.clone()), request.clone()))
    }
}

/// What the far gateway has made of a request: it is the service's own, and nothing of ours is left.
fn behind_the_gateway(service: &Key, crossed: &Seen, seen: &Seen, faults: &mut Vec<String>) {
    let authority = format!("{}.{}.svc.cluster.local", service.name, service.namespace);
    if seen.authority != authority {
        faults.push(format!("behind the far gateway the authority is {}, not {authority}", seen.authority));
    }
    if (&seen.method, &seen.path) != (&crossed.method, &crossed.path) {
        faults.push(format!("behind the far gateway it is {} {}", seen.method, seen.path));
    }
    for (name, _) in seen.headers.iter().filter(|(name, _)| [STEERING_HEADER, PORT_HEADER].contains(&&**name)) {
        faults.push(format!("behind the far gateway it still has {name}"));
    }
}

/// The Service that a pod, `CLUSTER/NAMESPACE/POD`, stands behind.
fn service_of<'s>(cluster: &str, pod: &str, services: impl IntoIterator<Item = &'s Key>) -> Option<&'s Key> {
    let [of_cluster, namespace, pod] = *pod.split('/').collect::<Vec<_>>() else { return None };
    let is_behind = |key: &&Key| {
        let of_deployment = pod.strip_prefix(&*key.name).is_some_and(|rest| rest.starts_with('-'));
        of_deployment && &*key.namespace == namespace && of_cluster == cluster
    };
    services.into_iter().filter(is_behind).max_by_key(|key| key.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_tells_its_service() {
        let services = ["payment", "payment-v2", "stats"].map(|name| Key::new("secure", name));
        let table = [
            ("cluster-2/secure/payment-v2-6d5f-x2x4", Some("payment-v2")),
            ("cluster-2/secure/payment-6d5f-x2x4", Some("payment")),
            ("cluster-2/secure/pay-6d5f-x2x4", None),
            ("cluster-2/other/payment-6d5f-x2x4", None),
            ("cluster-1/secure/payment-6d5f-x2x4", None),
            ("payment-6d5f", None),
        ];
        for (pod, expected) in table {
            let found = service_of("cluster-2", pod, &services).map(|key| &*key.name);
            assert_eq!(found, expected, "{pod}");
        }
    }
}
