//! How a module is named.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;
use sha2::{Digest as _, Sha256};

const IMAGE_SCHEME: &str = "oci://";

/// A SHA-256 digest; its text is `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

/// A text that is no [`Digest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 64 digits alone.
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix("sha256:").ok_or(DigestError)?;
        let mut digest = [0; 32];
        hex::decode_to_slice(digits, &mut digest).map_err(|_| DigestError)?;
        // Decoding takes upper case too; two spellings of one digest would be two modules.
        (hex::encode(digest) == digits).then_some(Self(digest)).ok_or(DigestError)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.to_hex())
    }
}

/// A module that cannot change: `oci://HOST/REPOSITORY[:TAG]@sha256:…` for an image, whose digest is the
/// manifest's, or `https://HOST/PATH@sha256:…` (or `http:`) for the file itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRef {
    location: Location,
    digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Image(Image),
    File(Url),
}

/// A repository of an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// Host, and port where it is given.
    pub(super) host: String,
    pub(super) repository: String,
    /// For people; the digest says which image it is.
    tag: Option<String>,
}

impl Image {
    /// The host that is asked for it: the registry that calls itself docker.io is at another one, as every client of it
    /// knows.
    pub(super) fn server(&self) -> &str {
        if self.host == "docker.io" { "index.docker.io" } else { &self.host }
    }
}

/// A text that is no [`ModuleRef`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleRefError {
    /// Not a place that Istio can fetch from.
    #[error("a module is oci://HOST/REPOSITORY@sha256:… or https://HOST/PATH@sha256:…")]
    Scheme,
    /// A name that can mean another module tomorrow.
    #[error(
        "{0} may be another module tomorrow: put its digest behind it, as in {0}@sha256:… (of an image, `crane digest` prints it)"
    )]
    NoDigest(String),
    /// The digest is none.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// Not an image's name.
    #[error("{0} names no image: write oci://HOST/REPOSITORY, where the host has a dot or a port")]
    Image(String),
    /// Not a URL, or one with user, query or fragment.
    #[error("{0} is no URL of a file")]
    Url(String),
}

impl ModuleRef {
    /// What a `WasmPlugin` names in `spec.url`.
    pub fn url(&self) -> String {
        match &self.location {
            Location::Image(_) => self.to_string(),
            Location::File(url) => url.to_string(),
        }
    }

    /// What a `WasmPlugin` names in `spec.sha256`; none for an image, whose URL holds it.
    pub fn sha256(&self) -> Option<String> {
        match self.location {
            Location::Image(_) => None,
            Location::File(_) => Some(self.digest.to_hex()),
        }
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) fn location(&self) -> &Location {
        &self.location
    }
}

impl FromStr for ModuleRef {
    type Err = ModuleRefError;

    fn from_str(text: &str) -> Result<Self, ModuleRefError> {
        let is_file = text.starts_with("https://") || text.starts_with("http://");
        if !is_file && !text.starts_with(IMAGE_SCHEME) {
            return Err(ModuleRefError::Scheme);
        }
        let (address, digest) = text.rsplit_once('@').ok_or_else(|| ModuleRefError::NoDigest(text.to_owned()))?;
        let digest = digest.parse()?;
        let location = match address.strip_prefix(IMAGE_SCHEME) {
            Some(image) => Location::Image(image.parse()?),
            None => Location::File(parse_url(address).ok_or_else(|| ModuleRefError::Url(address.to_owned()))?),
        };
        Ok(Self { location, digest })
    }
}

impl fmt::Display for ModuleRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::Image(image) => write!(formatter, "{IMAGE_SCHEME}{image}@{}", self.digest),
            Location::File(url) => write!(formatter, "{url}@{}", self.digest),
        }
    }
}

impl FromStr for Image {
    type Err = ModuleRefError;

    fn from_str(text: &str) -> Result<Self, ModuleRefError> {
        let refuse = || ModuleRefError::Image(format!("{IMAGE_SCHEME}{text}"));
        let (host, path) = text.split_once('/').ok_or_else(refuse)?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        let name = |text: &str, others: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') && text.chars().all(is_part)
        };
        // Without a dot or a port, Istio takes the host for a repository of Docker Hub.
        let is_host = name(host, ".-:") && (host.contains(['.', ':']) || host == "localhost");
        let is_repository =
            repository.split('/').all(|part| name(part, "._-")) && repository == repository.to_lowercase();
        let is_tag = tag.is_none_or(|tag| name(tag, "._-"));
        if !(is_host && is_repository && is_tag) {
            return Err(refuse());
        }
        Ok(Self { host: host.to_owned(), repository: repository.to_owned(), tag: tag.map(str::to_owned) })
    }
}

impl fmt::Display for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.host, self.repository)?;
        self.tag.as_ref().map_or(Ok(()), |tag| write!(formatter, ":{tag}"))
    }
}

fn parse_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (is_plain && url.query().is_none()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn parse(text: &str) -> Result<ModuleRef, ModuleRefError> {
        text.replace("HEX", HEX).parse()
    }

    #[test]
    fn what_a_wasm_plugin_says() {
        for (text, url, sha256) in [
            ("oci://ghcr.io/l7mp/mcwan-filter@sha256:HEX", "oci://ghcr.io/l7mp/mcwan-filter@sha256:HEX", None),
            ("oci://10.0.0.1:5000/a/b:v1.2_3@sha256:HEX", "oci://10.0.0.1:5000/a/b:v1.2_3@sha256:HEX", None),
            ("oci://localhost/filter@sha256:HEX", "oci://localhost/filter@sha256:HEX", None),
            ("https://example.com/a/plugin.wasm@sha256:HEX", "https://example.com/a/plugin.wasm", Some(HEX)),
            ("http://10.0.0.1:8080/p@1.wasm@sha256:HEX", "http://10.0.0.1:8080/p@1.wasm", Some(HEX)),
        ] {
            let module = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(module.url(), url.replace("HEX", HEX), "{text}");
            assert_eq!(module.sha256().as_deref(), sha256, "{text}");
            assert_eq!(module.to_string(), text.replace("HEX", HEX), "{text}: as it was written");
        }
    }

    #[test]
    fn a_name_that_may_change_is_refused_with_advice() {
        for text in
            ["oci://ghcr.io/l7mp/mcwan-filter:v1", "oci://ghcr.io/l7mp/mcwan-filter", "https://a.io/plugin.wasm"]
        {
            let error = parse(text).expect_err(text);
            assert_eq!(error, ModuleRefError::NoDigest(text.to_owned()));
            assert!(error.to_string().contains(&format!("{text}@sha256:…")), "{error}");
        }
    }

    #[test]
    fn what_is_no_module_is_refused() {
        use ModuleRefError as Error;
        let image = |text: &str| Error::Image(text.to_owned());
        for (text, error) in [
            ("", Error::Scheme),
            ("ghcr.io/l7mp/mcwan-filter@sha256:HEX", Error::Scheme),
            ("file:///plugin.wasm@sha256:HEX", Error::Scheme),
            ("oci://ghcr.io/a@sha512:HEX", Error::Digest(DigestError)),
            ("oci://ghcr.io/a@sha256:HEX0", Error::Digest(DigestError)),
            (
                "oci://ghcr.io/a@sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
                Error::Digest(DigestError),
            ),
            ("oci://filter@sha256:HEX", image("oci://filter")),
            ("oci://l7mp/filter@sha256:HEX", image("oci://l7mp/filter")),
            ("oci://ghcr.io/@sha256:HEX", image("oci://ghcr.io/")),
            ("oci://ghcr.io/a//b@sha256:HEX", image("oci://ghcr.io/a//b")),
            ("oci://ghcr.io/A@sha256:HEX", image("oci://ghcr.io/A")),
            ("oci://ghcr.io/../a@sha256:HEX", image("oci://ghcr.io/../a")),
            ("oci://ghcr.io/a:@sha256:HEX", image("oci://ghcr.io/a:")),
            ("oci://ghcr.io/a?x=1@sha256:HEX", image("oci://ghcr.io/a?x=1")),
            ("https://@sha256:HEX", Error::Url("https://".to_owned())),
            ("https://me:secret@a.io/p@sha256:HEX", Error::Url("https://me:secret@a.io/p".to_owned())),
            ("https://a.io/p#x@sha256:HEX", Error::Url("https://a.io/p#x".to_owned())),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
