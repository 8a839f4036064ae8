//! How the module is fetched where a server does not simply give it: credentials, redirects, wrong answers.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::extract::RawQuery;
use axum::http::header::{AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use mcwan::module::{Digest, ModuleCheck, ModuleError};
use mcwan_core::problem::Reason;
use serde_json::json;
use tokio::net::TcpListener;

/// The least that passes for the filter.
fn mk_module() -> Vec<u8> {
    let version = mcwan_policy::wire::VERSION.to_le_bytes();
    [&b"\0asm\x01\0\0\0\0\x0f\x0amcwan.wire"[..], &version].concat()
}

/// An image's layer that holds it.
fn mk_layer() -> Vec<u8> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(mk_module().len().try_into().unwrap());
    header.set_cksum();
    archive.append_data(&mut header, "plugin.wasm", mk_module().as_slice()).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

fn mk_manifest(layer: &[u8]) -> String {
    let layer =
        json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": Digest::of(layer).to_string()});
    json!({"schemaVersion": 2, "layers": [layer]}).to_string()
}

async fn serve(router: impl FnOnce(SocketAddr) -> Router) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = router(address);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A registry with one image, which it gives to whom `admits` lets in, and answers others as `challenge` says.
async fn registry(
    admits: &'static str,
    challenge: impl Fn(SocketAddr) -> String + Send + 'static,
) -> (SocketAddr, String) {
    let manifest = mk_manifest(&mk_layer());
    let image = format!("filter@{}", Digest::of(manifest.as_bytes()));
    let address = serve(|address| {
        let challenge = challenge(address);
        let guard = move |headers: HeaderMap, content: Vec<u8>| -> Response {
            match headers.get(AUTHORIZATION) {
                Some(given) if given == admits => content.into_response(),
                _ => (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge.clone())]).into_response(),
            }
        };
        let (guard_manifest, guard_blob) = (guard.clone(), guard);
        Router::new()
            .route("/v2/filter/manifests/{d}", get(async move |headers| guard_manifest(headers, manifest.into_bytes())))
            .route("/v2/filter/blobs/{d}", get(async move |headers| guard_blob(headers, mk_layer())))
            .route("/token", get(token))
    })
    .await;
    (address, image)
}

/// Gives everybody a token for the one image, by the names that a service has.
async fn token(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let token = match query.strip_prefix("scope=repository%3Afilter%3Apull&service=") {
        Some("test") => json!({"token": "t0k3n"}),
        Some("oauth") => json!({"access_token": "t0k3n", "expires_in": 300}),
        Some("both") => json!({"token": "t0k3n", "access_token": "t0k3n"}),
        Some("none") => json!({}),
        _ => return StatusCode::BAD_REQUEST.into_response(),
    };
    token.to_string().into_response()
}

fn bearer(address: SocketAddr) -> String {
    bearer_of(address, "test")
}

fn bearer_of(address: SocketAddr, service: &str) -> String {
    format!(r#"Bearer realm="http://{address}/token",service="{service}""#)
}

fn mk_check(address: SocketAddr, module: &str) -> ModuleCheck {
    ModuleCheck {
        module: module.parse().unwrap_or_else(|error| panic!("{module}: {error}")),
        insecure_registries: vec![address.to_string()],
        registry_config: None,
        authorities: None,
    }
}

/// The same with a login for that registry, which is in the folder.
fn mk_check_with_login(address: SocketAddr, image: &str) -> (ModuleCheck, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let login = json!({"auths": {address.to_string(): {"auth": "bWU6c2VjcmV0"}}});
    std::fs::write(&config, login.to_string()).unwrap();
    let check = mk_check(address, &format!("oci://{address}/{image}"));
    (ModuleCheck { registry_config: Some(config), ..check }, folder)
}

#[tokio::test]
async fn an_anonymous_token_is_asked_for() {
    for (service, want) in [("test", Ok(())), ("oauth", Ok(())), ("both", Ok(())), ("none", Err(Reason::FetchFailed))] {
        let (address, image) = registry("Bearer t0k3n", |address| bearer_of(address, service)).await;
        let found = mk_check(address, &format!("oci://{address}/{image}")).once().await;
        assert_eq!(found.map_err(|error| error.reason()), want, "{service}");
    }
}

#[tokio::test]
async fn a_login_of_the_registry_config_is_not_sent_over_plain_http() {
    let (address, image) = registry("Basic bWU6c2VjcmV0", |_| r#"Basic realm="test""#.to_owned()).await;
    let module = format!("oci://{address}/{image}");
    let without = mk_check(address, &module).once().await;
    assert_eq!(without.map_err(|error| error.reason()), Err(Reason::Unauthorized));

    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.json");
    let write = |content: &str| std::fs::write(&config, content).unwrap();
    let check = ModuleCheck { registry_config: Some(config.clone()), ..mk_check(address, &module) };
    for (what, content, want) in [
        (
            "the right one",
            json!({"auths": {address.to_string(): {"auth": "bWU6c2VjcmV0"}}}).to_string(),
            Reason::InsecureLogin,
        ),
        ("another registry's", json!({"auths": {"a.io": {"auth": "bWU6c2VjcmV0"}}}).to_string(), Reason::Unauthorized),
        ("no file of that kind", "auths:\n".to_owned(), Reason::InvalidCredentials),
    ] {
        write(&content);
        assert_eq!(check.once().await.map_err(|error| error.reason()), Err(want), "{what}");
    }
    std::fs::remove_file(&config).unwrap();
    assert_eq!(check.once().await.map_err(|error| error.reason()), Err(Reason::InvalidCredentials), "no file");
}

#[tokio::test]
async fn the_login_of_a_registry_is_not_for_whom_it_redirects_to() {
    let (mirror, image) = registry("Basic bWU6c2VjcmV0", |_| r#"Basic realm="test""#.to_owned()).await;
    let address = serve(|_| {
        let elsewhere = async move |uri: Uri| Redirect::temporary(&format!("http://{mirror}{uri}"));
        Router::new().fallback(elsewhere)
    })
    .await;
    let (check, _folder) = mk_check_with_login(address, &image);
    let refused = check.once().await.expect_err("nobody has let the mirror know the login");
    assert_eq!(refused.reason(), Reason::Unauthorized, "{refused}");
}

#[tokio::test]
async fn a_token_that_a_login_would_get_is_not_asked_for_over_plain_http() {
    let (address, image) = registry("Bearer t0k3n", bearer).await;
    let (check, _folder) = mk_check_with_login(address, &image);
    let refused = check.once().await.expect_err("a token is as good as the login");
    assert_eq!(refused.reason(), Reason::InsecureLogin);
    assert!(refused.to_string().contains(&format!("http://{address}/")), "it says where: {refused}");
}

#[tokio::test]
async fn what_another_digest_names_is_refused_wherever_it_comes_from() {
    let module = mk_module();
    let manifest = mk_manifest(&mk_layer());
    let image = Digest::of(manifest.as_bytes());
    let zeros: Digest = format!("sha256:{}", "0".repeat(64)).parse().unwrap();
    let address = serve(|_| {
        Router::new()
            .route("/v2/lies/manifests/{d}", get("{}"))
            .route("/v2/layer/manifests/{d}", get(manifest))
            .route("/v2/layer/blobs/{d}", get("another"))
            .route("/plugin.wasm", get(async || mk_module()))
            .route("/moved", get(async || (StatusCode::FOUND, [(LOCATION, "/plugin.wasm")])))
            .route("/huge", get(async || vec![0; (16 << 20) + 1]))
            .route("/broken", get(StatusCode::BAD_GATEWAY))
    })
    .await;
    let own = Digest::of(&module);
    for (module, want) in [
        (format!("http://{address}/plugin.wasm@{own}"), Ok(())),
        (format!("http://{address}/moved@{own}"), Ok(())),
        (format!("http://{address}/plugin.wasm@{zeros}"), Err(Reason::DigestMismatch)),
        (format!("http://{address}/huge@{own}"), Err(Reason::TooLarge)),
        (format!("http://{address}/broken@{own}"), Err(Reason::FetchFailed)),
        (format!("http://{address}/nowhere@{own}"), Err(Reason::NotFound)),
        (format!("https://{address}/plugin.wasm@{own}"), Err(Reason::FetchFailed)),
        (format!("oci://{address}/lies@{zeros}"), Err(Reason::DigestMismatch)),
        (format!("oci://{address}/layer@{image}"), Err(Reason::DigestMismatch)),
    ] {
        let result = mk_check(address, &module).once().await;
        assert_eq!(result.as_ref().map_err(ModuleError::reason).copied(), want, "{module}: {result:?}");
    }
}

#[tokio::test]
async fn a_registry_that_is_not_said_to_be_insecure_is_asked_by_tls_only() {
    let (address, image) = registry("Bearer t0k3n", bearer).await;
    let check = ModuleCheck { insecure_registries: vec![], ..mk_check(address, &format!("oci://{address}/{image}")) };
    let result = check.once().await;
    assert!(matches!(&result, Err(ModuleError::FetchFailed { url, .. }) if url.starts_with("https://")), "{result:?}");
}
