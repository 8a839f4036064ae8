//! `Route` of `route.openshift.io/v1`, as people write it, and what it is told.
//!
//! The definition is laxer than `OpenShift`'s API server: hosts and paths are checked by the front end.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_core::ObjectMeta;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::resource::resource;
use crate::kind;
use crate::problem::ObjectRef;

/// A route of a router.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct OpenshiftRoute {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(default)]
    pub spec: OpenshiftRouteSpec,
    /// What it is told.
    #[serde(default, deserialize_with = "or_nothing")]
    status: Status,
}

/// What a route asks for (`RouteSpec`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenshiftRouteSpec {
    /// The host.
    pub host: Option<String>,
    /// The host, but for the router's domain.
    pub subdomain: Option<String>,
    /// Paths begin with it.
    pub path: Option<String>,
    /// Where requests go.
    pub to: RouteTarget,
    /// Where they go, too.
    #[serde(deserialize_with = "or_nothing")]
    pub alternate_backends: Vec<RouteTarget>,
    /// The port there.
    pub port: Option<RoutePort>,
    /// How clients are spoken to; none: in the clear.
    pub tls: Option<RouteTls>,
    /// Whether it stands for other hosts, too.
    pub wildcard_policy: Option<String>,
    /// What becomes of headers.
    pub http_headers: Option<RouteHeaders>,
}

/// What stands there. Whoever writes a list that may be left out, and has none, may write null.
fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A Service, and its share of the requests (`RouteTargetReference`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouteTarget {
    /// `Service`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its share, relative to the others', at most 256; none: 100.
    #[serde(deserialize_with = "weight")]
    pub weight: Option<u32>,
}

/// A weight, if the definition lets it be one.
fn weight<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let weight = Option::<u32>::deserialize(deserializer)?;
    match weight.filter(|weight| *weight > RouteTarget::MOST) {
        Some(weight) => Err(D::Error::custom(format!("weight {weight} is over the bound of {}", RouteTarget::MOST))),
        None => Ok(weight),
    }
}

/// A port of the pods (`RoutePort`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutePort {
    /// A number of the pods', or the name of a port of the Service.
    pub target_port: IntOrString,
}

/// How clients are spoken to (`TLSConfig`). Of keys and certificates nothing is kept but that they are there.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each tells of a field of its own")]
pub struct RouteTls {
    /// Where TLS ends: `edge`, `reencrypt` or `passthrough`.
    pub termination: String,
    #[serde(deserialize_with = "is_given")]
    certificate: bool,
    #[serde(deserialize_with = "is_given")]
    key: bool,
    #[serde(deserialize_with = "is_given")]
    ca_certificate: bool,
    #[serde(rename = "destinationCACertificate", deserialize_with = "is_given")]
    destination_ca_certificate: bool,
    /// What becomes of requests in the clear: `None`, `Redirect` or `Allow`.
    pub insecure_edge_termination_policy: Option<String>,
    /// A Secret of the namespace.
    pub external_certificate: Option<SecretRef>,
}

/// Whether a text is there. It is not kept.
fn is_given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<String>::deserialize(deserializer).map(|text| text.is_some_and(|text| !text.is_empty()))
}

/// A Secret by its name (`LocalObjectReference`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SecretRef {
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// What becomes of headers (`RouteHTTPHeaders`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouteHeaders {
    /// What is done.
    #[serde(deserialize_with = "or_nothing")]
    pub actions: HeaderActions,
}

/// What is done to the headers of requests and responses (`RouteHTTPHeaderActions`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HeaderActions {
    /// Of requests.
    #[serde(deserialize_with = "or_nothing")]
    pub request: Vec<HeaderAction>,
    /// Of responses.
    #[serde(deserialize_with = "or_nothing")]
    pub response: Vec<HeaderAction>,
}

/// What is done to one header (`RouteHTTPHeader`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HeaderAction {
    /// Its name.
    pub name: String,
    action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type")]
enum Action {
    Set { set: SetHeader },
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct SetHeader {
    value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "or_nothing")]
    ingress: Vec<Value>,
}

impl OpenshiftRoute {
    /// For people.
    pub fn object(&self) -> ObjectRef {
        let ObjectMeta { namespace, name, .. } = self.metadata.clone();
        ObjectRef { kind: kind::OPENSHIFT_ROUTE.name.to_owned(), namespace, name: name.unwrap_or_default() }
    }

    /// An annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// The Secret with its certificate, if it names one that there can be.
    pub fn named_secret(&self) -> Option<&str> {
        let secret = self.spec.tls.as_ref()?.external_certificate.as_ref()?;
        Some(&*secret.name).filter(|name| is_secret_name(name))
    }

    /// Whether it asks for the same as another.
    pub fn says(&self, other: &Self) -> bool {
        let (own, others) = (&self.metadata, &other.metadata);
        self.spec == other.spec
            && own.annotations == others.annotations
            && own.labels == others.labels
            && own.creation_timestamp == others.creation_timestamp
    }

    /// The entries of `status.ingress`, as they stand there.
    pub fn told(&self) -> &[Value] {
        &self.status.ingress
    }

    /// Takes note of what it is told.
    pub fn tell(&mut self, ingress: Vec<Value>) {
        self.status.ingress = ingress;
    }
}

impl RouteTarget {
    /// The weight of one that names none (`RouteTargetReference`).
    const WEIGHT: u32 = 100;
    /// The largest weight.
    const MOST: u32 = 256;

    /// Its share.
    pub fn share(&self) -> u32 {
        self.weight.unwrap_or(Self::WEIGHT)
    }
}

impl RouteTls {
    /// Whether a certificate or a key stands in it.
    pub fn is_inline(&self) -> bool {
        self.certificate || self.key || self.ca_certificate || self.destination_ca_certificate
    }
}

/// Bytes of a name (RFC 1123, as of a subdomain).
const SECRET_NAME_BYTES: usize = 253;

/// Whether a Secret can be called so. A Gateway that names what is too long is refused as a whole.
pub fn is_secret_name(name: &str) -> bool {
    let inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-');
    name.len() <= SECRET_NAME_BYTES && name.split('.').all(is_part)
}

impl HeaderAction {
    /// The value that it gets, in which `%%` is one; none: it is removed.
    pub fn value(&self) -> Option<&str> {
        match &self.action {
            Action::Set { set } => Some(&set.value),
            Action::Delete => None,
        }
    }
}

resource!(OpenshiftRoute as (), |()| kind::OPENSHIFT_ROUTE, |()| "v1");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mk_route(spec: &Value) -> serde_json::Result<OpenshiftRoute> {
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec}))
    }

    #[test]
    fn of_keys_nothing_is_kept() {
        for field in ["certificate", "key", "caCertificate", "destinationCACertificate"] {
            let route = mk_route(&json!({"tls": {"termination": "edge", field: "SECRET"}})).unwrap();
            assert!(route.spec.tls.as_ref().unwrap().is_inline(), "{field}");
            assert!(!format!("{route:?}").contains("SECRET"), "{field}");
        }
    }

    #[test]
    fn null_is_as_nothing() {
        let spec = json!({"to": {"name": "s"}, "alternateBackends": null, "port": null, "tls": null,
            "httpHeaders": {"actions": {"request": null, "response": null}}});
        for (place, null) in [
            ("/status", json!(null)),
            ("/status", json!({"ingress": null})),
            ("/spec/httpHeaders", json!({"actions": null})),
            ("/spec/httpHeaders", json!(null)),
            ("/spec/tls", json!({"termination": "edge", "externalCertificate": {}})),
        ] {
            let mut route = json!({"metadata": {"name": "a"}, "spec": spec, "status": {}});
            *route.pointer_mut(place).unwrap() = null.clone();
            let read: OpenshiftRoute =
                serde_json::from_value(route).unwrap_or_else(|error| panic!("{place} {null}: {error}"));
            let found = (read.told(), &*read.spec.alternate_backends, read.named_secret());
            assert_eq!(found, (&[][..], &[][..], None), "{place} {null}");
        }
    }

    #[test]
    fn what_the_definition_refuses_is_refused() {
        let to = |weight: i64| json!({"to": {"kind": "Service", "name": "s", "weight": weight}});
        let header =
            |action: Value| json!({"httpHeaders": {"actions": {"request": [{"name": "a", "action": action}]}}});
        for (spec, is_read, message) in [
            (to(256), true, "the largest weight"),
            (to(257), false, "a larger one"),
            (to(-1), false, "a negative one"),
            (header(json!({"type": "Delete"})), true, "a header goes"),
            (header(json!({"type": "Set", "set": {"value": "b"}})), true, "a header is set"),
            (header(json!({"type": "Set"})), false, "to nothing"),
            (header(json!({"type": "Append", "set": {"value": "b"}})), false, "what there is not"),
        ] {
            assert_eq!(mk_route(&spec).is_ok(), is_read, "{message}");
        }
        let read = mk_route(&json!({"to": {"name": "s"}})).unwrap();
        assert_eq!(read.spec.to.share(), 100, "the default weight");
    }
}
