//! Where the registry is, as other clusters reach it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use k8s_openapi::ByteString;
use kube::Config;
use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::json::put;
use serde_json::{Value, json};

use super::ClusterName;

/// The name of cluster and context in the kubeconfig of a cluster.
const NAME: &str = "mcwan-registry";

/// The length of a line of a PEM file.
const LINE: usize = 64;

/// The URL of an API server: `https://HOST[:PORT][/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Uri);

/// How the registry is reached, and how its API server proves who it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    server: ServerUrl,
    /// PEM; none: the usual authorities.
    authorities: Option<String>,
    tls_server_name: Option<String>,
}

/// Why clusters cannot be told where the registry is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no URL, or not one of HTTPS.
    #[error("an API server is at https://HOST[:PORT], not at {0:?}")]
    NoHttps(String),
    /// Whoever answers there would be given the token.
    #[error(
        "the kubeconfig in use does not verify the API server (insecure-skip-tls-verify), and its certificate authority \
         would be missing in what is printed: name it in the kubeconfig"
    )]
    Unverified,
}

impl FromStr for ServerUrl {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || EndpointError::NoHttps(text.to_owned());
        let url: Uri = text.parse().map_err(|_| error())?;
        let is_https = url.scheme_str() == Some("https") && url.host().is_some_and(|host| !host.is_empty());
        if is_https && url.query().is_none() { Ok(Self(url)) } else { Err(error()) }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.to_string().trim_end_matches('/'))
    }
}

impl ServerUrl {
    /// Whether it means another host from wherever it is used.
    pub fn is_local(&self) -> bool {
        let host = self.0.host().unwrap_or_default();
        is_local(&self.0) || OWN_HOSTS.iter().any(|own| host.eq_ignore_ascii_case(own))
    }
}

/// What a pod calls the API server of the cluster that it is in (Kubernetes, "Accessing the Kubernetes API from a Pod").
const OWN_HOSTS: [&str; 4] =
    ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];

/// Whether a URL leads to the machine that it is used on.
pub fn is_local(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_own = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host == "localhost" || host.parse().is_ok_and(is_own)
}

impl Endpoint {
    /// What we use ourselves, but for the URL, if others use another one.
    ///
    /// # Errors
    /// What we use ourselves is of no use to others.
    pub fn new(config: &Config, server: Option<&ServerUrl>) -> Result<Self, EndpointError> {
        if config.accept_invalid_certs {
            return Err(EndpointError::Unverified);
        }
        let server = match server {
            Some(server) => server.clone(),
            None => config.cluster_url.to_string().parse()?,
        };
        let authorities = config.root_cert.as_deref().map(|all| all.iter().map(|one| pem(one)).collect());
        Ok(Self { server, authorities, tls_server_name: config.tls_server_name.clone() })
    }

    /// The URL.
    pub fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// A kubeconfig that needs no other file, for who has a cluster's token.
    pub fn kubeconfig(&self, cluster: &ClusterName, token: &str) -> Value {
        let Self { server, authorities, tls_server_name } = self;
        let mut endpoint = json!({"server": server.to_string()});
        if let Some(authorities) = authorities {
            put(&mut endpoint, "certificate-authority-data", json!(ByteString(authorities.clone().into_bytes())));
        }
        if let Some(name) = tls_server_name {
            put(&mut endpoint, "tls-server-name", name.as_str());
        }
        let user = cluster.as_str();
        let context = json!({"cluster": NAME, "user": user, "namespace": REGISTRY_NAMESPACE});
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": NAME, "cluster": endpoint}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": NAME, "context": context}],
            "current-context": NAME,
        })
    }
}

/// A certificate as a text.
fn pem(certificate: &[u8]) -> String {
    let encoded = json!(ByteString(certificate.to_vec()));
    let encoded = encoded.as_str().unwrap_or_default();
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = encoded;
    while !rest.is_empty() {
        let (line, more) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;

    fn mk_config(url: &str) -> Config {
        Config::new(url.parse().unwrap())
    }

    fn mk_name() -> ClusterName {
        "c1".parse().unwrap()
    }

    #[test]
    fn a_server_is_a_url_of_https() {
        for (text, printed) in [
            ("https://10.20.0.1:6443", "https://10.20.0.1:6443"),
            ("https://registry.example.com/", "https://registry.example.com"),
            ("https://example.com/k8s/clusters/c-1", "https://example.com/k8s/clusters/c-1"),
            ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ] {
            assert_eq!(text.parse::<ServerUrl>().unwrap().to_string(), printed);
        }
        for text in
            ["", "10.20.0.1:6443", "http://10.20.0.1:6443", "https://", "https:///a", "https://a b", "https://a/?b=c"]
        {
            assert_eq!(text.parse::<ServerUrl>(), Err(EndpointError::NoHttps(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_local_is_told() {
        for (text, expected) in [
            ("https://127.0.0.1:6443", true),
            ("https://127.8.9.1", true),
            ("https://[::1]:6443", true),
            ("https://localhost:6443", true),
            ("https://0.0.0.0:6443", true),
            ("https://kubernetes.default.svc", true),
            ("https://10.20.0.1:6443", false),
            ("https://localhost.example.com", false),
        ] {
            assert_eq!(text.parse::<ServerUrl>().unwrap().is_local(), expected, "{text}");
        }
    }

    #[test]
    fn a_kubeconfig_says_what_ours_says() {
        let mut config = mk_config("https://10.20.0.1:6443");
        config.root_cert = Some(vec![vec![7; 100], vec![8; 3]]);
        config.tls_server_name = Some("kubernetes".to_owned());
        let endpoint = Endpoint::new(&config, None).unwrap();
        let kubeconfig: Kubeconfig = serde_json::from_value(endpoint.kubeconfig(&mk_name(), "t")).unwrap();
        let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://10.20.0.1:6443"));
        assert_eq!(cluster.tls_server_name.as_deref(), Some("kubernetes"));
        let data = json!(cluster.certificate_authority_data);
        let ByteString(data) = serde_json::from_value(data).unwrap();
        let text = String::from_utf8(data).unwrap();
        assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.len() <= LINE), "{text}");
    }

    #[test]
    fn others_may_reach_it_elsewhere() {
        let elsewhere = "https://registry.example.com".parse().unwrap();
        let endpoint = Endpoint::new(&mk_config("http://127.0.0.1:8001"), Some(&elsewhere)).unwrap();
        let kubeconfig = endpoint.kubeconfig(&mk_name(), "t");
        assert_eq!(kubeconfig["clusters"][0]["cluster"], json!({"server": "https://registry.example.com"}));
    }

    #[test]
    fn what_is_of_no_use_to_others_is_refused() {
        let error = Endpoint::new(&mk_config("http://127.0.0.1:8001"), None).unwrap_err();
        assert_eq!(error, EndpointError::NoHttps("http://127.0.0.1:8001/".to_owned()));
        let mut config = mk_config("https://10.20.0.1:6443");
        config.accept_invalid_certs = true;
        assert_eq!(Endpoint::new(&config, None), Err(EndpointError::Unverified));
    }
}
