//! Why something is wrong, in a word for machines, and what that means.

use std::fmt;

use mcwan_policy::wire::RefuseReason;

/// Why something is wrong. The weightier reason is the lesser: a condition has one reason only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// An object or a file cannot be read.
    Unreadable,
    /// A match cannot be read; without it others would match more.
    InvalidMatch,
    /// Something is over a bound.
    TooLarge,
    /// A gateway has one kind of data plane only.
    DataPlaneConflict,
    /// A name is not one that it can have.
    InvalidName,
    /// A value is not one that its field can have.
    InvalidValue,
    /// Something is there twice.
    Duplicate,
    /// Something is not there that must be.
    Missing,
    /// A text is no YAML.
    Syntax,
    /// A text is not UTF-8.
    NotUtf8,
    /// A document is no object of Kubernetes'.
    NotAnObject,
    /// There is no such kind, or not in that API version.
    UnknownKind,
    /// There is no such field.
    UnknownField,
    /// A field is not there that must be.
    MissingField,
    /// A field has no value.
    MissingValue,
    /// Of a request: no rule matches it.
    NoRuleMatched,
    /// Of a request: it has no usable `:authority` or `:path`.
    BadRequest,
    /// Of a request: its host belongs to no import.
    UnknownHost,
    /// Of a request: the data plane failed.
    Internal,
    /// A host belongs to an older import.
    HostConflict,
    /// A rule asks for something that mcwan does not do.
    UnsupportedFilter,
    /// A rule asks for something that cannot be.
    InvalidFilter,
    /// A backend does not exist.
    BackendNotFound,
    /// A backend is in another namespace that does not admit us.
    RefNotPermitted,
    /// A rule has no backend, or none that takes requests.
    NoBackend,
    /// There is no tier of that name.
    UnknownTier,
    /// A port is another's already.
    PortConflict,
    /// A tier has another port in another cluster.
    TierPortMismatch,
    /// There is no cluster of that name.
    ClusterNotFound,
    /// An address is not one that requests can be sent to.
    InvalidAddress,
    /// Nothing has an address yet.
    NoAddress,
    /// There is no Service of that name.
    NoService,
    /// A Service is not of a type that can be exported.
    InvalidServiceType,
    /// There is no port to serve an import on.
    NoPort,
    /// A name that would be made is too long.
    NameTooLong,
    /// A status cannot be answered with.
    UnsupportedStatus,
    /// An object is of a kind that is not read.
    NotRead,
    /// A file holds nothing.
    Empty,
}

/// What a problem means for the import that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The import as a whole is refused: not `Accepted`.
    Refused,
    /// Some of its rules or hosts do not hold: `PartiallyInvalid`; where none is left, not `Accepted`.
    Partial,
    /// Something that it refers to is not there, or not to be had: not `ResolvedRefs`.
    Unresolved,
    /// It should be known, but changes nothing.
    Harmless,
}

impl Reason {
    /// What it means for an import.
    pub const fn effect(self) -> Effect {
        match self {
            Self::Unreadable
            | Self::InvalidMatch
            | Self::TooLarge
            | Self::DataPlaneConflict
            | Self::InvalidName
            | Self::InvalidValue
            | Self::Duplicate
            | Self::Missing
            | Self::Syntax
            | Self::NotUtf8
            | Self::NotAnObject
            | Self::UnknownKind
            | Self::UnknownField
            | Self::MissingField
            | Self::MissingValue
            | Self::NoRuleMatched
            | Self::BadRequest
            | Self::UnknownHost
            | Self::Internal => Effect::Refused,
            Self::HostConflict | Self::UnsupportedFilter | Self::InvalidFilter => Effect::Partial,
            Self::BackendNotFound
            | Self::RefNotPermitted
            | Self::NoBackend
            | Self::UnknownTier
            | Self::PortConflict
            | Self::TierPortMismatch
            | Self::ClusterNotFound
            | Self::InvalidAddress
            | Self::NoAddress
            | Self::NoService
            | Self::InvalidServiceType
            | Self::NoPort => Effect::Unresolved,
            Self::NameTooLong | Self::UnsupportedStatus | Self::NotRead | Self::Empty => Effect::Harmless,
        }
    }

    /// The word, CamelCase.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "Unreadable",
            Self::InvalidMatch => "InvalidMatch",
            Self::TooLarge => "TooLarge",
            Self::DataPlaneConflict => "DataPlaneConflict",
            Self::InvalidName => "InvalidName",
            Self::InvalidValue => "InvalidValue",
            Self::Duplicate => "Duplicate",
            Self::Missing => "Missing",
            Self::Syntax => "Syntax",
            Self::NotUtf8 => "NotUtf8",
            Self::NotAnObject => "NotAnObject",
            Self::UnknownKind => "UnknownKind",
            Self::UnknownField => "UnknownField",
            Self::MissingField => "MissingField",
            Self::MissingValue => "MissingValue",
            Self::NoRuleMatched => "NoRuleMatched",
            Self::BadRequest => "BadRequest",
            Self::UnknownHost => "UnknownHost",
            Self::Internal => "Internal",
            Self::HostConflict => "HostConflict",
            Self::UnsupportedFilter => "UnsupportedFilter",
            Self::InvalidFilter => "InvalidFilter",
            Self::BackendNotFound => "BackendNotFound",
            Self::RefNotPermitted => "RefNotPermitted",
            Self::NoBackend => "NoBackend",
            Self::UnknownTier => "UnknownTier",
            Self::PortConflict => "PortConflict",
            Self::TierPortMismatch => "TierPortMismatch",
            Self::ClusterNotFound => "ClusterNotFound",
            Self::InvalidAddress => "InvalidAddress",
            Self::NoAddress => "NoAddress",
            Self::NoService => "NoService",
            Self::InvalidServiceType => "InvalidServiceType",
            Self::NoPort => "NoPort",
            Self::NameTooLong => "NameTooLong",
            Self::UnsupportedStatus => "UnsupportedStatus",
            Self::NotRead => "NotRead",
            Self::Empty => "Empty",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What the filter answers requests with.
impl From<mcwan_policy::Reason> for Reason {
    fn from(reason: mcwan_policy::Reason) -> Self {
        use mcwan_policy::Reason as Theirs;
        match reason {
            Theirs::NoRuleMatched => Self::NoRuleMatched,
            Theirs::NoBackend => Self::NoBackend,
            Theirs::BackendNotFound => Self::BackendNotFound,
            Theirs::RefNotPermitted => Self::RefNotPermitted,
            Theirs::UnsupportedFilter => Self::UnsupportedFilter,
            Theirs::InvalidFilter => Self::InvalidFilter,
            Theirs::InvalidMatch => Self::InvalidMatch,
            Theirs::TooLarge => Self::TooLarge,
            Theirs::BadRequest => Self::BadRequest,
            Theirs::UnknownHost => Self::UnknownHost,
            Theirs::Internal => Self::Internal,
        }
    }
}

impl From<RefuseReason> for Reason {
    fn from(reason: RefuseReason) -> Self {
        mcwan_policy::Reason::from(reason).into()
    }
}

#[cfg(test)]
mod tests {
    use mcwan_policy::Reason as Theirs;

    use super::*;

    #[test]
    fn the_weightier_reason_is_the_lesser() {
        let table = [
            (Reason::InvalidMatch, Reason::TooLarge, "two that refuse the whole"),
            (Reason::Missing, Reason::HostConflict, "the whole, and a part"),
            (Reason::InvalidFilter, Reason::BackendNotFound, "a part, and a reference"),
            (Reason::NoPort, Reason::NameTooLong, "a reference, and nothing"),
        ];
        for (weightier, lighter, message) in table {
            assert!(weightier < lighter && weightier.effect() <= lighter.effect(), "{message}");
        }
    }

    #[test]
    fn what_the_filter_answers_with_keeps_its_name() {
        for reason in [
            Theirs::NoRuleMatched,
            Theirs::NoBackend,
            Theirs::BackendNotFound,
            Theirs::RefNotPermitted,
            Theirs::UnsupportedFilter,
            Theirs::InvalidFilter,
            Theirs::InvalidMatch,
            Theirs::TooLarge,
            Theirs::BadRequest,
            Theirs::UnknownHost,
            Theirs::Internal,
        ] {
            assert_eq!(Reason::from(reason).as_str(), reason.as_str());
        }
    }
}
