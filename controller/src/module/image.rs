//! Pulls a module's layer from an OCI registry (OCI Distribution specification 1.1, "Pull"), and takes from
//! it what the istio-agent would: the last layer, an archive.

use reqwest::header::ACCEPT;
use reqwest::{Client, StatusCode};
use serde::Deserialize;

use super::ModuleError;
use super::credentials::{Authorization, Login, authorize};
use super::http::send;
use super::reference::{Digest, Image};

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// An image manifest, as far as it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    media_type: Option<String>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
}

/// Returns the layer, still packed. `login` is asked for only where the registry wants one.
pub(super) async fn pull(
    client: &Client,
    scheme: &str,
    image: &Image,
    digest: Digest,
    login: impl FnOnce() -> Result<Option<Login>, ModuleError>,
) -> Result<Vec<u8>, ModuleError> {
    let base = format!("{scheme}://{}/v2/{}", image.server(), image.repository);
    let url = format!("{base}/manifests/{digest}");
    let get_manifest = || client.get(&url).header(ACCEPT, format!("{OCI_MANIFEST}, {DOCKER_MANIFEST}"));
    let mut answer = send(get_manifest(), &url).await?;
    let mut authorization = Authorization::None;
    if answer.status == StatusCode::UNAUTHORIZED {
        // The login is the registry's, whoever it redirects to.
        let login = if answer.is_from(&url) { login()? } else { None };
        authorization = authorize(client, &url, &answer.headers, &image.repository, login).await?;
        answer = send(authorization.apply(get_manifest()), &url).await?;
    }
    let manifest = answer.success(&url)?;
    verify(&manifest, digest, &url)?;
    let layer = layer(&manifest)?;
    let url = format!("{base}/blobs/{layer}");
    let blob = send(authorization.apply(client.get(&url)), &url).await?.success(&url)?;
    verify(&blob, layer, &url)?;
    Ok(blob)
}

/// That these bytes have this digest.
pub(super) fn verify(bytes: &[u8], digest: Digest, url: &str) -> Result<(), ModuleError> {
    let actual = Digest::of(bytes);
    if actual == digest { Ok(()) } else { Err(ModuleError::DigestMismatch { url: url.to_owned(), actual }) }
}

/// The digest of the layer that holds the module.
fn layer(manifest: &[u8]) -> Result<Digest, ModuleError> {
    let manifest: Manifest = serde_json::from_slice(manifest)
        .map_err(|error| ModuleError::NotAModule(format!("its manifest cannot be read: {error}")))?;
    let wanted = match manifest.media_type.as_deref() {
        Some(DOCKER_MANIFEST) => DOCKER_LAYER,
        Some(OCI_MANIFEST) | None => OCI_LAYER,
        Some(other) => return Err(ModuleError::NotAModule(format!("its manifest is of type {other}"))),
    };
    let Some(layer) = manifest.layers.last() else {
        return Err(ModuleError::NotAModule("the image has no layer".to_owned()));
    };
    if layer.media_type != wanted {
        let why = format!("its layer is of type {}, not {wanted}", layer.media_type);
        return Err(ModuleError::NotAModule(why));
    }
    layer.digest.parse().map_err(|error| ModuleError::NotAModule(format!("its layer: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn manifest(media_type: &str, layers: &[&str]) -> Vec<u8> {
        let layers: Vec<_> =
            layers.iter().map(|media_type| serde_json::json!({"mediaType": media_type, "digest": DIGEST})).collect();
        serde_json::json!({"schemaVersion": 2, "mediaType": media_type, "layers": layers}).to_string().into_bytes()
    }

    #[test]
    fn the_last_layer_is_taken_if_the_istio_agent_takes_it() {
        const WASM: &str = "application/vnd.module.wasm.content.layer.v1+wasm";
        const INDEX: &str = "application/vnd.oci.image.index.v1+json";
        for (what, media_type, layers, taken) in [
            ("one archive", OCI_MANIFEST, &[OCI_LAYER][..], true),
            ("an archive behind another layer", OCI_MANIFEST, &[WASM, OCI_LAYER], true),
            ("docker's form", DOCKER_MANIFEST, &[DOCKER_LAYER], true),
            ("a mixture", OCI_MANIFEST, &[DOCKER_LAYER], false),
            ("a bare module", OCI_MANIFEST, &[WASM], false),
            ("no layer", OCI_MANIFEST, &[], false),
            ("an index", INDEX, &[OCI_LAYER], false),
        ] {
            assert_eq!(layer(&manifest(media_type, layers)).is_ok(), taken, "{what}");
        }
    }
}
