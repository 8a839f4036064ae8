//! An image on disk, as the OCI image layout specification (1.0) says.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::digest::Digest;
use super::layer::Layer;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// An image of one layer.
pub(crate) struct Image {
    /// Its name in `org.opencontainers.image.title`.
    pub(crate) title: &'static str,
    /// The operating system, as Go names it.
    pub(crate) os: &'static str,
    /// The architecture, as Go names it.
    pub(crate) architecture: &'static str,
    /// How it is run: the object `config` of its configuration.
    pub(crate) run: Value,
    pub(crate) layer: Layer,
}

impl Image {
    /// Writes the image as the only one of the layout `folder`, in place of what is there. Returns
    /// the digest to pull it by.
    pub(crate) fn write(&self, folder: &Path) -> Result<Digest> {
        empty(folder)?;
        let config = self.config().to_string();
        let manifest = self.manifest(&config).to_string();
        for blob in [self.layer.compressed.as_slice(), config.as_bytes(), manifest.as_bytes()] {
            write(&folder.join("blobs/sha256").join(Digest::of(blob).hex()), blob)?;
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [descriptor(MANIFEST, manifest.as_bytes())],
        });
        write(&folder.join("index.json"), index.to_string().as_bytes())?;
        write(&folder.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string().as_bytes())?;
        Ok(Digest::of(manifest.as_bytes()))
    }

    fn config(&self) -> Value {
        json!({
            "os": self.os,
            "architecture": self.architecture,
            "config": self.run,
            "rootfs": {"type": "layers", "diff_ids": [self.layer.diff_id.to_string()]},
        })
    }

    fn manifest(&self, config: &str) -> Value {
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, config.as_bytes()),
            "layers": [descriptor(LAYER, &self.layer.compressed)],
            "annotations": {
                "org.opencontainers.image.title": self.title,
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
            },
        })
    }
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(content).to_string(), "size": content.len()})
}

/// Removes what an earlier run left, and makes the folders of a layout.
fn empty(folder: &Path) -> Result<()> {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("cannot replace {}", folder.display()));
    }
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).with_context(|| format!("cannot make {}", blobs.display()))
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(content: &[u8]) -> Result<Image> {
        let layer = Layer::new("plugin.wasm", 0o644, content)?;
        Ok(Image { title: "module", os: "wasip1", architecture: "wasm", run: json!({}), layer })
    }

    fn read(folder: &Path, digest: &str) -> Result<Vec<u8>> {
        let hex = digest.strip_prefix("sha256:").context("not a SHA-256 digest")?;
        let blob = fs::read(folder.join("blobs/sha256").join(hex))?;
        assert_eq!(Digest::of(&blob).to_string(), digest);
        Ok(blob)
    }

    #[test]
    fn the_same_content_has_the_same_digest_wherever_and_whenever_it_is_written() -> Result<()> {
        let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let digest = image(b"module")?.write(one.path())?;
        assert_eq!(image(b"module")?.write(two.path())?, digest);
        assert_eq!(image(b"module")?.write(one.path())?, digest, "over itself");
        assert_ne!(image(b"another")?.write(two.path())?, digest);
        Ok(())
    }

    #[test]
    fn the_index_leads_to_every_blob_and_no_other_is_left() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let folder = folder.path();
        image(b"what was there before")?.write(folder)?;
        let digest = image(b"module")?.write(folder)?;
        let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
        assert_eq!(index["manifests"][0]["digest"], digest.to_string());
        let manifest: Value = serde_json::from_slice(&read(folder, &digest.to_string())?)?;
        for blob in [&manifest["config"], &manifest["layers"][0]] {
            let content = read(folder, blob["digest"].as_str().context("no digest")?)?;
            assert_eq!(blob["size"], content.len());
        }
        assert_eq!(fs::read_dir(folder.join("blobs/sha256"))?.count(), 3);
        Ok(())
    }
}
