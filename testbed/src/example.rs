//! The examples: what a cluster holds, what a client sends, and what must become of it.
//!
//! The form of the files is written down in `examples/README.md`.

mod form;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::client::Request;

/// One folder of `examples/`.
#[derive(Clone, Debug)]
pub struct Example {
    /// The folder's name.
    pub name: String,
    /// The file that holds the resources.
    pub manifests: PathBuf,
    /// The requests, in their order.
    pub cases: Vec<Case>,
}

/// A request and what must become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// What is sent.
    pub request: Request,
    /// How often it is sent.
    pub repeat: NonZeroU32,
    /// What must become of it, each time.
    pub expected: Expected,
}

/// What must become of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The rule that decides, counted from 0; none: that does not matter.
    pub rule: Option<usize>,
    /// The lines that the client must see, of the names among them.
    pub response_headers: Vec<Header>,
    /// Where it ends.
    pub end: End,
}

/// Where a request ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At an upstream.
    Upstream(Upstream),
    /// On the way.
    Answer(ExpectedAnswer),
}

/// A request that must arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Where it may arrive, and the share of each; never empty.
    pub shares: BTreeMap<Destination, NonZeroU32>,
    /// The authority that the upstream must see.
    pub authority: Option<String>,
    /// The path that it must see.
    pub path: Option<String>,
    /// The lines that it must see, of the names among them.
    pub headers: Vec<Header>,
    /// The names of which it must see no line, in lower case.
    pub absent_headers: Vec<String>,
}

/// A request that must be answered on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedAnswer {
    /// The status.
    pub status: u16,
    /// The value of `x-mcwan-reason`; none: there must be no such header.
    pub reason: Option<String>,
    /// The value of `location`; none: there must be no such header.
    pub location: Option<String>,
}

/// A header line; its name is in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Where a request may arrive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// At the far gateway, over this tier.
    Tier(String),
    /// At an endpoint of this Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// `sd-wan-priority-high`, `secure/payment-v2`.
impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(name) => formatter.write_str(name),
            Self::Service { namespace, name } => write!(formatter, "{namespace}/{name}"),
        }
    }
}

impl Example {
    /// Reads the example of this name.
    ///
    /// # Errors
    /// There is none, or one of its files is not what `examples/README.md` says.
    pub fn load(name: &str) -> Result<Self> {
        let known = Self::names()?;
        if !known.iter().any(|known| known == name) {
            bail!("there is no example `{name}`; there are {}", known.join(", "));
        }
        let folder = folder().join(name);
        let requests = folder.join("requests.yaml");
        let text = fs::read_to_string(&requests).with_context(|| format!("cannot read {}", requests.display()))?;
        let cases = form::parse(&text).with_context(|| format!("{} is wrong", requests.display()))?;
        Ok(Self { name: name.to_owned(), manifests: folder.join("manifests.yaml"), cases })
    }

    /// The names of all examples that can be played, in alphabetical order: those with requests.
    pub fn names() -> Result<Vec<String>> {
        let folder = folder();
        let context = || format!("cannot list {}", folder.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            if entry.path().join("requests.yaml").is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}
