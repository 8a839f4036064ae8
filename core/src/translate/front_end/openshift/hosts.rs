//! The hosts and paths of `Route`s, and who may have which.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcwan_policy::{is_label, limits, standard_hosts};

use super::Refused;
use super::asks::check_path;
use crate::api::OpenshiftRoute;
use crate::normal_path::normalised;
use crate::problem::Reason;
use crate::snapshot::{Key, Keyed, is_from_elsewhere};
use crate::translate::{Import, RouteHosts};

/// The hosts of the imports of a namespace.
pub(super) struct ImportHosts<'i> {
    namespace: &'i str,
    imports: &'i Keyed<Arc<Import>>,
    /// Those that do not follow from the names of the namespace's own.
    others: BTreeMap<String, &'i Import>,
}

/// The host that a route claims, if nothing is wrong with what its claim is made of.
pub(in crate::translate) fn host_of(route: &OpenshiftRoute, domain: Option<&str>) -> Result<String, Refused> {
    let spec = &route.spec;
    if spec.wildcard_policy.as_deref() == Some("Subdomain") {
        return Err((Reason::RouteNotAdmitted, "wildcardPolicy Subdomain is not taken".to_owned()));
    }
    let host = match (given(spec.host.as_ref()), given(spec.subdomain.as_ref()), domain) {
        (Some(host), _, _) => host,
        (None, Some(subdomain), Some(domain)) => format!("{subdomain}.{domain}"),
        (None, None, Some(domain)) => {
            let name = route.metadata.name.as_deref().unwrap_or_default().replace('.', "-");
            format!("{name}-{}.{domain}", route.metadata.namespace.as_deref().unwrap_or_default())
        }
        (None, _, None) => {
            let message = "it names no host, and the controller has no --route-domain".to_owned();
            return Err((Reason::NoHostValue, message));
        }
    };
    if host.len() > limits::HOST_BYTES || !host.split('.').all(is_label) {
        let message =
            format!("host {host:?} is none: want lower-case labels of at most 63 characters, with dots between");
        return Err((Reason::InvalidHost, message));
    }
    let path = path_of(route);
    if !path.is_empty() {
        let refused = |message| (Reason::ExtendedValidationFailed, message);
        check_path(path).map_err(refused)?;
        let seen = normalised(path);
        if seen != path {
            return Err(refused(format!("path {path:?} is {seen:?} in requests, once that is normalised: write this")));
        }
    }
    Ok(host)
}

/// A text, unless it is empty.
pub(super) fn given(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

/// The path that a route asks for: nothing where every path is meant.
pub(super) fn path_of(route: &OpenshiftRoute) -> &str {
    route.spec.path.as_deref().filter(|path| *path != "/").unwrap_or_default()
}

pub(super) fn claimed(message: String) -> Refused {
    (Reason::HostAlreadyClaimed, message)
}

impl<'i> ImportHosts<'i> {
    pub(super) fn of(namespace: &'i str, imports: &'i Keyed<Arc<Import>>) -> Self {
        let mut others = BTreeMap::new();
        for import in imports.in_namespace(namespace).map(|import| &**import).filter(|import| import.is_service()) {
            let wire = &import.wire;
            let is_view = is_from_elsewhere(&import.key);
            let standard = is_view.then(|| standard_hosts(&wire.namespace, &wire.name));
            // Bare names are for imports of the namespace itself.
            let standard = standard.into_iter().flatten().filter(|host| host.contains('.'));
            let hosts = wire.hostnames.iter().cloned().chain(standard);
            others.extend(hosts.map(|host| (host, import)));
        }
        Self { namespace, imports, others }
    }

    /// Whether a host is a route's to have: an import of the namespace comes first, then the oldest route.
    pub(super) fn leave(&self, host: &str, own: &Key, routes: &RouteHosts) -> Result<(), Refused> {
        if let Some(Import { wire, .. }) = self.owner(host) {
            return Err(claimed(format!("host {host} is that of the import {}/{}", wire.namespace, wire.name)));
        }
        match routes.owner(host) {
            Some(owner) if owner.namespace != own.namespace => {
                Err(claimed(format!("host {host} is that of route {owner}, which is older")))
            }
            _ => Ok(()),
        }
    }

    fn owner(&self, host: &str) -> Option<&Import> {
        let label = host.split('.').next().unwrap_or_default();
        let mut named = [Some(label), label.strip_suffix("-clusterset")].into_iter().flatten();
        let own = named.find_map(|name| {
            let import = self.imports.get(self.namespace, name)?;
            standard_hosts(self.namespace, name).iter().any(|standard| standard == host).then_some(&**import)
        });
        let wildcards = host.match_indices('.').filter_map(|(at, _)| Some(format!("*{}", host.get(at..)?)));
        let mut patterns = std::iter::once(host.to_owned()).chain(wildcards);
        own.or_else(|| patterns.find_map(|pattern| self.others.get(&pattern).copied()))
    }
}
