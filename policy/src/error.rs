//! What can be wrong with a configuration, and why a request is answered here.

use std::fmt;

use crate::limits;
use crate::wire::{self, NoMatch};
use crate::{ChoiceError, HostPatternError, PathError, PatternError, RedirectError, RewriteError, WanPathError};

/// Why mcwan answered a request itself, or will for an import or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// No rule of the import matches.
    NoRuleMatched,
    /// The rule has no action, or all its weights are zero.
    NoBackend,
    /// The backend does not exist.
    BackendNotFound,
    /// The backend is in another namespace that does not admit us.
    RefNotPermitted,
    /// The tier is one that the pair of clusters may not use.
    TierNotPermitted,
    /// None of the tiers that the rule names keeps its promise.
    NoTierInSla,
    /// The rule asks for something that mcwan does not do.
    UnsupportedFilter,
    /// The rule asks for something that cannot be.
    InvalidFilter,
    /// A match of the import cannot be read; without it others would match more.
    InvalidMatch,
    /// The import is over a bound.
    TooLarge,
    /// The request has no usable `:authority` or `:path`.
    BadRequest,
    /// The host belongs to no import.
    UnknownHost,
    /// The data plane failed us, so that steering is not certain.
    Internal,
}

impl Reason {
    /// The name in headers, conditions and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoRuleMatched => "NoRuleMatched",
            Self::NoBackend => "NoBackend",
            Self::BackendNotFound => "BackendNotFound",
            Self::RefNotPermitted => "RefNotPermitted",
            Self::TierNotPermitted => "TierNotPermitted",
            Self::NoTierInSla => "NoTierInSla",
            Self::UnsupportedFilter => "UnsupportedFilter",
            Self::InvalidFilter => "InvalidFilter",
            Self::InvalidMatch => "InvalidMatch",
            Self::TooLarge => "TooLarge",
            Self::BadRequest => "BadRequest",
            Self::UnknownHost => "UnknownHost",
            Self::Internal => "Internal",
        }
    }

    /// The HTTP status of the answer; `no_match` is what the import answers where no rule matches.
    pub const fn status(self, no_match: NoMatch) -> u16 {
        match self {
            Self::NoRuleMatched => no_match.status(),
            Self::BadRequest => 400,
            Self::UnknownHost => 404,
            Self::NoTierInSla | Self::Internal => 503,
            Self::NoBackend
            | Self::BackendNotFound
            | Self::RefNotPermitted
            | Self::TierNotPermitted
            | Self::UnsupportedFilter
            | Self::InvalidFilter
            | Self::InvalidMatch
            | Self::TooLarge => 500,
        }
    }

    /// A sentence for the person at the client.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoRuleMatched => "no rule of this import matches the request\n",
            Self::NoBackend => "the rule for this request has no backend\n",
            Self::BackendNotFound => "the backend of the rule for this request does not exist\n",
            Self::RefNotPermitted => "the backend of the rule for this request is not permitted\n",
            Self::TierNotPermitted => "the tier of the rule for this request is not permitted\n",
            Self::NoTierInSla => "no tier for this request keeps its promise\n",
            Self::UnsupportedFilter => "the rule for this request has an unsupported filter\n",
            Self::InvalidFilter => "the rule for this request has an invalid filter\n",
            Self::InvalidMatch => "a rule of this import has an invalid match\n",
            Self::TooLarge => "this import is over a bound\n",
            Self::BadRequest => "the request has no usable authority or path\n",
            Self::UnknownHost => "no import has this host\n",
            Self::Internal => "the request could not be steered\n",
        }
    }
}

impl NoMatch {
    /// HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooManyRequests => 429,
            Self::ServiceUnavailable => 503,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why a configuration is refused whole.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It has too many bytes.
    #[error("the config has {0} bytes, over the bound of {max}", max = limits::CONFIG_BYTES)]
    Bytes(usize),
    /// It is not what [`crate::wire::PluginConfig`] describes.
    #[error("the config cannot be read")]
    Syntax(#[from] serde_json::Error),
    /// Its version is not ours.
    #[error("the config has version {0}, this module reads version {ours}", ours = wire::VERSION)]
    Version(u32),
    /// Its revision is too large a number.
    #[error("the config has revision {0}, which is not below {max}", max = limits::REVISIONS)]
    Revision(u64),
    /// It has too many paths over the WAN.
    #[error("the config has {0} paths, over the bound of {max}", max = limits::PATHS)]
    Paths(usize),
    /// One of them cannot be.
    #[error("path {index} of the config cannot be")]
    Path {
        /// Its place.
        index: usize,
        /// Why.
        source: WanPathError,
    },
    /// A rule names a path that it does not have.
    #[error("import {import}: rule {rule}, backend {backend}: the config has no path {path}")]
    NoPath {
        /// Namespace and name of the import.
        import: String,
        /// The rule in its import.
        rule: usize,
        /// The action in its rule.
        backend: usize,
        /// The place that no path has.
        path: u32,
    },
}

/// Something that is wrong with one import.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}{part}")]
pub struct ImportError {
    /// Where in the import.
    pub at: At,
    /// What.
    pub part: Part,
}

impl ImportError {
    /// Whether the whole import answers 500 for it, and not one of its rules alone.
    pub fn breaks_import(&self) -> bool {
        match self.at {
            At::Import | At::Hostname(_) | At::Rule(_) | At::Match(..) => true,
            At::Actions(_) | At::Action(..) => false,
        }
    }
}

/// A place in an import; every number is an index from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The import as a whole.
    Import,
    /// One of its hostnames.
    Hostname(usize),
    /// A rule.
    Rule(usize),
    /// A match of a rule.
    Match(usize, usize),
    /// The actions of a rule.
    Actions(usize),
    /// An action of a rule.
    Action(usize, usize),
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Import => Ok(()),
            Self::Hostname(hostname) => write!(formatter, "hostname {hostname}: "),
            Self::Rule(rule) | Self::Actions(rule) => write!(formatter, "rule {rule}: "),
            Self::Match(rule, index) => write!(formatter, "rule {rule}, match {index}: "),
            Self::Action(rule, index) => write!(formatter, "rule {rule}, backend {index}: "),
        }
    }
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Part {
    /// A list over its bound.
    #[error("{count} {what}, over the bound of {max}")]
    TooMany {
        /// What the list holds.
        what: &'static str,
        /// How many it has.
        count: usize,
        /// How many it may have.
        max: usize,
    },
    /// A regular expression for which there is no room.
    #[error(
        "there are over {} different regular expressions, or they take over {} MiB once compiled",
        limits::PATTERNS, limits::PATTERNS_COMPILED_BYTES >> 20
    )]
    Patterns,
    /// A text over its bound.
    #[error("{what} has {bytes} bytes, over the bound of {max}")]
    TooLong {
        /// What the text is.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A hostname.
    #[error(transparent)]
    Hostname(#[from] HostPatternError),
    /// A path to match.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A regular expression.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A name of a header or query parameter.
    #[error("{0:?} is not the name of a header or query parameter")]
    Name(String),
    /// The index of a target that the import does not have.
    #[error("the import has no target {0}")]
    Target(u32),
    /// A choice of a tier.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// A path rewrite.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// A redirect.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
}

impl Part {
    /// Refuses a list over its bound.
    pub(crate) fn bound(what: &'static str, count: usize, max: usize) -> Result<(), Self> {
        if count <= max { Ok(()) } else { Err(Self::TooMany { what, count, max }) }
    }

    /// Refuses a text over its bound.
    pub(crate) fn length(what: &'static str, text: &str, max: usize) -> Result<(), Self> {
        if text.len() <= max { Ok(()) } else { Err(Self::TooLong { what, bytes: text.len(), max }) }
    }

    /// Refuses the index of a target that the import, of so many, does not have.
    pub(crate) fn target(target: u32, targets: usize) -> Result<(), Self> {
        let is_one = usize::try_from(target).is_ok_and(|index| index < targets);
        if is_one { Ok(()) } else { Err(Self::Target(target)) }
    }

    /// What a request that meets it is answered with.
    pub fn reason(&self) -> Reason {
        match self {
            Self::TooMany { .. } | Self::Patterns | Self::TooLong { .. } => Reason::TooLarge,
            Self::Hostname(_) | Self::Path(_) | Self::Pattern(_) | Self::Name(_) => Reason::InvalidMatch,
            Self::Target(_) => Reason::BackendNotFound,
            Self::Choice(_) | Self::Rewrite(_) | Self::Redirect(_) => Reason::InvalidFilter,
        }
    }
}
