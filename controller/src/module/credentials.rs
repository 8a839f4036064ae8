//! Who we are to an OCI registry.

use std::fs::File;
use std::path::Path;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use http_auth::{ChallengeRef, parse_challenges};
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;

use super::ModuleError;
use super::http::send;

/// A name and a password.
#[derive(Clone)]
pub(super) struct Login {
    name: String,
    password: String,
}

/// What a request carries to be let in.
pub(super) enum Authorization {
    None,
    Basic(Login),
    Bearer(String),
}

/// A token server's answer: one of both, or the same in both (Distribution specification, "token authentication").
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// The login that a docker config file has for a registry; none if it has none.
pub(super) fn login(config: &Path, host: &str) -> Result<Option<Login>, ModuleError> {
    let refuse = |why: String| ModuleError::Credentials(format!("{}: {why}", config.display()));
    let file = File::open(config).map_err(|error| refuse(error.to_string()))?;
    match docker_credential::get_credential_from_reader(file, host) {
        Ok(DockerCredential::UsernamePassword(name, password)) => Ok(Some(Login { name, password })),
        Ok(DockerCredential::IdentityToken(_)) => Err(refuse(format!("an identity token for {host}: give a password"))),
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// Answers the challenge of a registry that let nobody in to `url` (Distribution specification, "token
/// authentication"); none where there is no answer. A login, and the token that it gets, goes by TLS only.
pub(super) async fn authorize(
    client: &Client,
    url: &str,
    challenge: &HeaderMap,
    repository: &str,
    login: Option<Login>,
) -> Result<Authorization, ModuleError> {
    let Some(text) = challenge.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) else {
        return Ok(Authorization::None);
    };
    let login = login.as_ref();
    let challenges = parse_challenges(text).unwrap_or_default();
    let find = |scheme: &str| challenges.iter().find(|challenge| challenge.scheme.eq_ignore_ascii_case(scheme));
    if let Some(realm) = find("Bearer").and_then(|bearer| token_url(bearer, repository)) {
        let request = client.get(realm.clone());
        let request = match login {
            Some(Login { name, password }) => {
                require_tls(url)?;
                require_tls(realm.as_str())?;
                request.basic_auth(name, Some(password))
            }
            None => request,
        };
        let body = send(request, realm.as_str()).await?.success(realm.as_str())?;
        let token: Token = serde_json::from_slice(&body).map_err(|error| ModuleError::fetch_failed(&realm, &error))?;
        let token = token.token.or(token.access_token);
        let none = || ModuleError::FetchFailed { url: realm.to_string(), why: "it gives no token".to_owned() };
        return token.map(Authorization::Bearer).ok_or_else(none);
    }
    match login.filter(|_| find("Basic").is_some()) {
        Some(login) => {
            require_tls(url)?;
            Ok(Authorization::Basic(login.clone()))
        }
        None => Ok(Authorization::None),
    }
}

/// That nobody on the way can read what is sent.
fn require_tls(url: &str) -> Result<(), ModuleError> {
    if url.starts_with("https://") { Ok(()) } else { Err(ModuleError::InsecureLogin(url.to_owned())) }
}

fn token_url(bearer: &ChallengeRef<'_>, repository: &str) -> Option<Url> {
    let parameter = |wanted: &str| {
        let found = bearer.params.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.to_unescaped())
    };
    let mut realm = Url::parse(&parameter("realm")?).ok()?;
    realm.query_pairs_mut().append_pair("scope", &format!("repository:{repository}:pull"));
    if let Some(service) = parameter("service") {
        realm.query_pairs_mut().append_pair("service", &service);
    }
    Some(realm)
}

impl Authorization {
    pub(super) fn apply(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::None => request,
            Self::Basic(Login { name, password }) => request.basic_auth(name, Some(password)),
            Self::Bearer(token) => request.bearer_auth(token),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcwan_core::problem::Reason;
    use reqwest::header::HeaderValue;

    use super::super::http::client;
    use super::*;

    #[tokio::test]
    async fn a_login_goes_by_tls_only() {
        let client = client(None).unwrap();
        let bearer = r#"Bearer realm="http://127.0.0.1/token""#;
        for (url, challenge, is_known, expected, message) in [
            ("https://a.io/v2/f", "Basic realm=\"a\"", true, Ok(true), "the login, by TLS"),
            ("https://a.io/v2/f", "Basic realm=\"a\"", false, Ok(false), "there is none"),
            ("http://a.io/v2/f", "Basic realm=\"a\"", false, Ok(false), "there is none to lose"),
            ("http://a.io/v2/f", "Basic realm=\"a\"", true, Err(Reason::InsecureLogin), "the registry is in the clear"),
            ("https://a.io/v2/f", bearer, true, Err(Reason::InsecureLogin), "who gives the token is in the clear"),
            ("http://a.io/v2/f", "Negotiate", true, Ok(false), "nothing is asked for that we could give"),
        ] {
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))]);
            let login = is_known.then(|| Login { name: "me".to_owned(), password: "secret".to_owned() });
            let answer = authorize(&client, url, &headers, "f", login).await;
            let answer = answer.map(|answer| matches!(answer, Authorization::Basic(_)));
            assert_eq!(answer.map_err(|error| error.reason()), expected, "{message}");
        }
    }
}
