//! What users, other clusters and misfortune do to a cluster, and when.

mod random;

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::{Key, of_hosts, view};

/// A whole schedule. The same script under the same seed is the same run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    /// Of all delays.
    pub(crate) seed: u64,
    /// How late everything may be.
    pub(crate) pace: Pace,
    /// What happens, and how long after what happened before.
    pub(crate) steps: Vec<(Duration, Step)>,
}

/// How late channels may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Channels keep within the lead, and pods within the grace; no request gets lost, or is slow.
    Smooth,
    /// The same, but requests get lost.
    Kept,
    /// They do not.
    Late,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Somebody writes a `ServiceImport`.
    Import(Service, ImportWish),
    /// Somebody deletes it.
    NoImport(Service),
    /// Somebody writes an `HTTPRoute` below an import, for all of its ports or for one.
    Route(Service, ImportWish, Option<u16>),
    /// Somebody deletes it.
    NoRoute(Service),
    /// A cluster exports a service.
    Export(Cluster, Service, ExportWish),
    /// It does so no more.
    NoExport(Cluster, Service),
    /// A tier has this port here and everywhere.
    Tier(Tier, u16),
    /// A tier is no more.
    NoTier(Tier),
    /// Requests of another cluster come from so many addresses.
    Gateways(Cluster, u8),
    /// Somebody writes a policy of which clusters may use which tier.
    Policy(usize, PolicyWish),
    /// Somebody deletes it.
    NoPolicy(usize),
    /// Somebody labels another cluster.
    Region(Cluster, Option<&'static str>),
    /// Another cluster hears of nothing.
    Deaf(Cluster, Duration),
    /// A Service of this cluster that rules may name, in the first namespace.
    Local,
    /// There is none.
    NoLocal,
    /// It has a pod.
    Endpoints,
    /// It has none.
    NoEndpoints,
    /// The Service of the second namespace may be named from the first.
    Grant,
    /// It may not.
    NoGrant,
    /// Somebody writes an `HTTPRoute` in the second namespace below the first import.
    Consumer(ImportWish),
    /// Somebody deletes it.
    NoConsumer,
    /// Somebody writes a `GRPCRoute` below the first import.
    Calls(ImportWish),
    /// Somebody deletes it.
    NoCalls,
    /// Routes of the second namespace are admitted.
    Admit,
    /// They are not.
    NoAdmit,
    /// Somebody writes a `Route` of `OpenShift` in the first namespace.
    OpenshiftRoute,
    /// The same `Route` speaks TLS with the certificate of a Secret.
    TlsRoute(Secret),
    /// Somebody deletes it.
    NoOpenshiftRoute,
    /// The controller may read a Secret.
    MayRead(Secret),
    /// It may not.
    MayNotRead(Secret),
    /// This cluster exports one of two services of the first namespace, with so many ports.
    OwnExport(Service, usize),
    /// It does so no more.
    NoOwnExport(Service),
    /// The key of steering values is another one.
    Key(u8),
    /// A namespace goes, with everything in it, and comes again.
    Namespace(u8),
    /// A namespace comes.
    NamespaceComes(u8),
    /// A namespace goes, with everything in it.
    NamespaceGoes(u8),
    /// The API server refuses to write objects of a kind for an import, or does not know the kind.
    Refuse(Kind, Option<Service>, Duration),
    /// The definition of a kind that we write goes, with all its objects, and comes again.
    Undefine(Kind, Duration),
    /// The API server answers nobody.
    Outage(Duration),
    /// It is restored from a backup: so many of the last writes are lost.
    Restore(u64),
    /// A cluster does not renew its Lease, and hears of nothing: its controller is away.
    Silent(Cluster, Duration),
    /// The replica that leads dies, and starts anew.
    Die,
    /// Another release takes the place of this one: both replicas are replaced, and its module is another.
    Release,
    /// The replica that leads does so no more, and goes on.
    Depose,
    /// One of the gateway pods of a namespace is replaced.
    Restart(u8),
    /// One of the gateway pods of a namespace cannot be asked.
    Mute(u8, Duration),
    /// What is known of the module.
    Module(Module),
    /// Somebody writes an object that has the name of one of ours, or deletes it.
    Rival(Service, bool),
    /// Somebody deletes what clients of an import call, or what shows them its address.
    NoClient(Service, Kind),
    /// By now the filter must have been told of an import as it is wanted.
    Expect(Service),
}

/// A service, by its number.
pub(crate) type Service = usize;
/// A cluster that exports, by its number.
pub(crate) type Cluster = usize;
/// A tier, by its number.
pub(crate) type Tier = usize;
/// A Secret of the first namespace, by its number.
pub(crate) type Secret = usize;

/// What is known of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Module {
    Sound,
    NotFetched,
    Unsound,
}

/// Rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ImportWish {
    /// Hosts beside its own.
    pub(crate) hosts: Vec<usize>,
    /// Each with the path that it is for, by its number; the first is for all.
    pub(crate) rules: Vec<RuleWish>,
    /// How much of a filter's configuration it takes.
    pub(crate) size: Size,
    /// Its rules are routes, and no filter has them.
    pub(crate) is_native: bool,
}

/// How much of the configuration of a filter an import takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Size {
    #[default]
    Little,
    /// One has room for it, and not for two of them.
    MoreThanHalf,
    /// None has room for it.
    TooMuch,
}

/// The path of a rule by its number, its backends with their weights, and what it does more.
pub(crate) type RuleWish = (usize, Vec<(Backend, u32)>, Extra);

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Tier(Tier),
    Local,
    /// The Service of the second namespace.
    Granted,
}

/// A policy of which clusters may use which tier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PolicyWish {
    /// The clusters on both sides; of the one for all others it says nothing.
    pub(crate) sides: [Side; 2],
    /// The tiers; none: any.
    pub(crate) tiers: Option<Vec<Tier>>,
    /// Of the one for all others: whether clusters that several are for have no tier.
    pub(crate) is_strict: bool,
}

/// The clusters on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Any,
    /// Those with this label.
    Region(&'static str),
    /// This one.
    Own,
}

/// What makes another target of the same destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    Nothing,
    Timeout(u8),
    Header(u8),
    /// Its tiers may be left for this one.
    Fallback(Tier),
}

/// An export of another cluster.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExportWish {
    pub(crate) ports: Vec<u16>,
    pub(crate) pods: u32,
    pub(crate) default_tier: Option<Tier>,
    pub(crate) is_headless: bool,
}

/// The services that are imported.
pub(crate) const SERVICES: [(&str, &str); 4] = [("a", "x"), ("a", "y"), ("a", "w"), ("b", "z")];
/// The namespaces of users.
pub(crate) const NAMESPACES: [&str; 2] = ["a", "b"];
/// The hosts that imports may claim beside their own: what the second stands for has the first in it.
pub(crate) const HOSTS: [&str; 2] = ["one.hosts.example", "*.hosts.example"];
/// The host of the `Route`.
pub(crate) const ROUTED_HOST: &str = "routed.example";
/// The Secrets with its certificates.
pub(crate) const SECRETS: [&str; 2] = ["one-tls", "two-tls"];
/// Those of them that this cluster may export, too: in the first namespace.
pub(crate) const OWN: [&str; 2] = [SERVICES[0].1, SERVICES[1].1];
/// The clusters that export.
pub(crate) const CLUSTERS: [&str; 2] = ["c1", "c2"];
/// The policies; the first is for all clusters that no other is for.
pub(crate) const POLICIES: [&str; 3] = ["default", "left", "right"];
/// What clusters are labelled.
pub(crate) const REGIONS: [&str; 2] = ["eu", "us"];
/// The lowest port of a tier.
pub(crate) const FIRST_PORT: u16 = 31_111;
/// The tiers.
pub(crate) const TIERS: [&str; 2] = ["high", "low"];
/// The paths that rules are for; the first is for all.
pub(crate) const PATHS: [&str; 3] = ["/", "/p", "/q"];
/// The ports of services.
pub(crate) const PORTS: [u16; 2] = [8080, 9090];

/// What the gateways of namespaces serve: the services, what clients of the second namespace see of the first one, and what
/// the `Route` of the first namespace asks for.
pub(crate) fn imports() -> Vec<Key> {
    let services = SERVICES.map(|(namespace, name)| Key::new(namespace, name));
    let seen = view(NAMESPACES[1], &services[0]);
    services.into_iter().chain([seen, of_hosts(NAMESPACES[0])]).collect()
}

impl Step {
    /// The namespace in which it makes something.
    pub(crate) fn makes_in(&self) -> Option<&'static str> {
        Some(match self {
            Self::Import(service, _) | Self::Route(service, ..) => SERVICES[*service].0,
            Self::Calls(_)
            | Self::Local
            | Self::Endpoints
            | Self::OwnExport(..)
            | Self::Admit
            | Self::OpenshiftRoute
            | Self::TlsRoute(_)
            | Self::MayRead(_) => NAMESPACES[0],
            Self::Grant | Self::Consumer(_) => NAMESPACES[1],
            _ => return None,
        })
    }

    /// Whether who does this does not want that any more, which was refused so far.
    pub(crate) fn revokes(&self, refused: &Self) -> bool {
        match (self, refused) {
            (Self::NoImport(service), Self::Import(known, _))
            | (Self::NoRoute(service), Self::Route(known, ..))
            | (Self::NoOwnExport(service), Self::OwnExport(known, _))
            | (Self::MayNotRead(service), Self::MayRead(known)) => service == known,
            (Self::NamespaceGoes(place), Self::NamespaceComes(known)) => place == known,
            (Self::NoCalls, Self::Calls(_))
            | (Self::NoLocal, Self::Local)
            | (Self::NoEndpoints, Self::Endpoints)
            | (Self::NoOpenshiftRoute, Self::OpenshiftRoute | Self::TlsRoute(_))
            | (Self::NoGrant, Self::Grant)
            | (Self::NoAdmit, Self::Admit)
            | (Self::NoConsumer, Self::Consumer(_)) => true,
            _ => false,
        }
    }
}
