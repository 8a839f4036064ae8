//! Why something is as it is, in a word for machines, and what that means for an import.

use std::fmt;

use mcwan_policy::sla::Judgement;
use mcwan_policy::wire::RefuseReason;
use serde::Serialize;

/// Why something is as it is. Of those of problems the weightier is the lesser: a condition has one reason only. So they
/// stand in the order of their effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
    /// Of a request: no tier that its rule names keeps its promise.
    NoTierInSla,
    /// Of a request: the data plane failed.
    Internal,
    /// A host belongs to an older import: the first that refuses a part alone.
    HostConflict,
    /// An object that would be made has the name of another's.
    Conflict,
    /// A rule asks for something that mcwan does not do.
    UnsupportedFilter,
    /// A rule asks for something that cannot be.
    InvalidFilter,
    /// A backend does not exist: the first for what is not there.
    BackendNotFound,
    /// A backend is of a kind that none can be of.
    InvalidKind,
    /// A backend is in another namespace that does not admit us.
    RefNotPermitted,
    /// A tier is one that the pair of clusters may not use.
    TierNotPermitted,
    /// A rule has no backend, or none that takes requests.
    NoBackend,
    /// Nobody says which tier requests take.
    NoTier,
    /// There is no tier of that name.
    UnknownTier,
    /// No cluster has a cable driver of that name.
    UnknownDriver,
    /// A port is another's already.
    PortConflict,
    /// A tier has another port in another cluster.
    TierPortMismatch,
    /// Of a tier between two clusters: one of them does not have it.
    NotOffered,
    /// Of a tier between two clusters: it has another cable driver in either.
    TierDriverMismatch,
    /// Of a tier between two clusters: a policy that matches them cannot be read.
    InvalidPolicy,
    /// Of a tier between two clusters: several policies match them.
    PolicyConflict,
    /// Of a tier between two clusters: their policy does not name it, or asks for another cable driver.
    NotInPolicy,
    /// Of a tier between two clusters: one of them does not support its cable driver.
    DriverNotSupported,
    /// There is no cluster of that name.
    ClusterNotFound,
    /// Nothing of other clusters is imported into a namespace.
    NamespaceNotPermitted,
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
    /// A certificate is not there, or none.
    InvalidCertificateRef,
    /// A name that would be made is too long: the first that changes nothing.
    NameTooLong,
    /// A status cannot be answered with.
    UnsupportedStatus,
    /// It takes long until it shows that a promise is not kept.
    SlowToJudge,
    /// An object is of a kind that is not read.
    NotRead,
    /// A file holds nothing.
    Empty,
    /// Of a condition: a route has nothing as its parent that its rules could hold for.
    NoMatchingParent,
    /// Of a condition: the rules of another object hold in place of a route's.
    Conflicted,
    /// Of a condition: a route asks for something that mcwan does not do.
    UnsupportedValue,
    /// Of a condition: a route has no host, and there is no domain for it.
    NoHostValue,
    /// Of a condition: a route's host is none.
    InvalidHost,
    /// Of a condition: a route's host or path is an older one's, or an import's.
    HostAlreadyClaimed,
    /// Of a condition: a route of its kind is not taken.
    RouteNotAdmitted,
    /// Of a condition: a route says what it cannot.
    ExtendedValidationFailed,
    /// Of a condition: TLS of a route ends where mcwan does not end it.
    TerminationUnsupported,
    /// Of a condition: a route wants a header to have a value that depends on the request.
    UnsupportedHeaderValue,
    /// Of a condition: a route is restricted by an annotation that mcwan does not know.
    UnsupportedAnnotation,
    /// Of a condition: an object is as it should be.
    Accepted,
    /// Of a condition: everything that an import refers to is there.
    ResolvedRefs,
    /// Of a condition: the gateways do what an import says.
    Programmed,
    /// Of a condition: there is a tier that a pair of clusters may use.
    Permitted,
    /// Of a condition: other clusters admit a gateway pod.
    Admitted,
    /// Of a condition: not all of them do yet.
    Waiting,
    /// Of a condition: something is still on its way, which is no news.
    Pending,
    /// Of a condition: nothing is known of what is in the registry; of a request: it was not sent there.
    RegistryUnreachable,
    /// Of a condition: a cluster does not renew its Lease.
    ClusterStale,
    /// What was out of date is no more.
    UpToDate,
    /// What is asked for cannot be.
    Invalid,
    /// A server does not take it.
    Refused,
    /// The module of the filter cannot be had.
    ModuleNotFetched,
    /// A gateway does not take the filter's config.
    ConfigNotLoaded,
    /// Of a tier to another cluster, as it is measured: it keeps its promise.
    InSla,
    /// As it is measured: too little is known of it.
    FewAnswers,
    /// As it is measured: no probe can be sent.
    ProbeFailed,
    /// As it is measured: round trips are longer than promised.
    Latency,
    /// As it is measured: they differ more than promised.
    Jitter,
    /// As it is measured: more is lost than promised.
    Loss,
    /// As it is measured: nothing answers.
    NoAnswer,
    /// Of a condition: clients reach a service.
    Ready,
    /// A Service cannot have the address that it asks for.
    AddressTaken,
    /// Of a condition: a Service can be exported.
    Valid,
    /// Of a condition: the registry has an export.
    Exported,
    /// Of a condition: the message says why an export is not ready.
    Failed,
    /// Of a condition: no other cluster disagrees about an export, or no two policies match a pair of clusters.
    NoConflicts,
    /// Of a condition: clusters disagree about the type of a service.
    TypeConflict,
    /// Of a condition: clusters disagree about the session affinity of a service.
    SessionAffinityConflict,
    /// Of a condition: clusters disagree about how long that lasts.
    SessionAffinityConfigConflict,
    /// Of a condition: clusters export different annotations.
    AnnotationsConflict,
    /// Of a condition: clusters export different labels.
    LabelsConflict,
    /// Of a condition: clusters disagree about which pods the clients of a cluster reach.
    InternalTrafficPolicyConflict,
    /// Of a condition: clusters disagree about which pods are preferred.
    TrafficDistributionConflict,
    /// Of a request: the object changed meanwhile.
    Changed,
    /// Of a request: the object changes again and again.
    Changing,
    /// Of a request: the object is about to go.
    Deleting,
    /// Of a request: its kind is not installed.
    NotInstalled,
    /// Of a request: its namespace is not there.
    NamespaceNotFound,
    /// Of a request: its namespace is about to go, and may be made anew.
    NamespaceTerminating,
    /// Of a request: our rights do not suffice.
    Forbidden,
    /// Of a request: the server does not know us.
    Unauthorized,
    /// Of a request: the server has too much to do.
    TooManyRequests,
    /// Of a request: the server has failed.
    ServerError,
    /// Of a request: there was no answer in time.
    Timeout,
    /// Of a request: there was no answer.
    Unreachable,
    /// Of the module: a server does not give it.
    FetchFailed,
    /// Of the module: it is not there.
    NotFound,
    /// Of the module: its server asks for the login in the clear.
    InsecureLogin,
    /// Of the module: the login cannot be read.
    InvalidCredentials,
    /// Of the module: it is another.
    DigestMismatch,
    /// Of the module: it is something else.
    NotAModule,
    /// Of the module: it is of another release.
    WireVersionMismatch,
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
    pub fn effect(self) -> Effect {
        if self < Self::HostConflict {
            Effect::Refused
        } else if self < Self::BackendNotFound {
            Effect::Partial
        } else if self < Self::NameTooLong {
            Effect::Unresolved
        } else {
            Effect::Harmless
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
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
            Theirs::TierNotPermitted => Self::TierNotPermitted,
            Theirs::NoTierInSla => Self::NoTierInSla,
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

/// What paths are judged by.
impl From<Judgement> for Reason {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::InSla => Self::InSla,
            Judgement::FewAnswers => Self::FewAnswers,
            Judgement::ProbeFailed => Self::ProbeFailed,
            Judgement::Latency => Self::Latency,
            Judgement::Jitter => Self::Jitter,
            Judgement::Loss => Self::Loss,
            Judgement::NoAnswer => Self::NoAnswer,
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
    fn a_reason_has_the_effect_of_its_place() {
        let table = [
            (Reason::Unreadable, Effect::Refused),
            (Reason::Internal, Effect::Refused),
            (Reason::HostConflict, Effect::Partial),
            (Reason::InvalidFilter, Effect::Partial),
            (Reason::BackendNotFound, Effect::Unresolved),
            (Reason::NoPort, Effect::Unresolved),
            (Reason::NameTooLong, Effect::Harmless),
            (Reason::Empty, Effect::Harmless),
        ];
        for (reason, effect) in table {
            assert_eq!(reason.effect(), effect, "{reason}");
        }
        assert!(table.is_sorted(), "the weightier is the lesser");
    }

    #[test]
    fn what_the_filter_answers_with_keeps_its_name() {
        for reason in [
            Theirs::NoRuleMatched,
            Theirs::NoBackend,
            Theirs::BackendNotFound,
            Theirs::RefNotPermitted,
            Theirs::TierNotPermitted,
            Theirs::NoTierInSla,
            Theirs::UnsupportedFilter,
            Theirs::InvalidFilter,
            Theirs::InvalidMatch,
            Theirs::TooLarge,
            Theirs::BadRequest,
            Theirs::UnknownHost,
            Theirs::Internal,
        ] {
            assert_eq!(Reason::from(reason).to_string(), reason.as_str());
        }
    }
}
