//! The kinds that mcwan reads from files.

use crate::api::{self, MCS_GROUP};
use crate::kind::{self, KindInfo, Scope};

/// A kind that mcwan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    WanPolicy,
    ServiceImport,
    ExportedService,
    WanCluster,
    Service,
    EndpointSlice,
    ReferenceGrant,
    ServiceExport,
    Pod,
}

/// What an `apiVersion` and a `kind` stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recognized {
    /// A kind that mcwan reads.
    Read(Kind),
    /// The items of a `kubectl get -o yaml`.
    List,
    /// A kind that mcwan does not read, and a hint.
    Ignored(Option<String>),
    /// Almost a kind that mcwan reads: how it must be written.
    Misspelt(String),
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::WanPolicy,
        Self::ServiceImport,
        Self::ExportedService,
        Self::WanCluster,
        Self::Service,
        Self::EndpointSlice,
        Self::ReferenceGrant,
        Self::ServiceExport,
        Self::Pod,
    ];

    /// What there is to know of the kind.
    pub(super) const fn info(self) -> &'static KindInfo {
        match self {
            Self::WanPolicy => &kind::WAN_POLICY,
            Self::ServiceImport => &kind::SERVICE_IMPORT,
            Self::ExportedService => &kind::EXPORTED_SERVICE,
            Self::WanCluster => &kind::WAN_CLUSTER,
            Self::Service => &kind::SERVICE,
            Self::EndpointSlice => &kind::ENDPOINT_SLICE,
            Self::ReferenceGrant => &kind::REFERENCE_GRANT,
            Self::ServiceExport => &kind::SERVICE_EXPORT,
            Self::Pod => &kind::POD,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        self.info().name
    }

    pub(super) fn is_namespaced(self) -> bool {
        self.info().scope == Scope::Namespaced
    }
}

/// Tells what an object is.
pub(super) fn recognize(api_version: &str, kind: &str) -> Recognized {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if (group, version, kind) == ("", "v1", "List") {
        return Recognized::List;
    }
    let same_kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
    match same_kind {
        Some(known) if known.info().group == group && known.info().file_versions.contains(&version) => {
            Recognized::Read(known)
        }
        Some(known) if known.info().group == group => misspelt(known),
        Some(Kind::ServiceImport) if group == MCS_GROUP => Recognized::Ignored(Some(format!(
            "the rules of mcwan are in a ServiceImport of `apiVersion: {}/{}`",
            api::GROUP,
            api::VERSION
        ))),
        Some(known) if known.info().is_ours() => misspelt(known),
        None if group == api::GROUP => match similar(kind) {
            Some(known) => misspelt(known),
            None => Recognized::Misspelt(format!("the kinds of {group} are {}", our_kinds())),
        },
        _ => Recognized::Ignored(None),
    }
}

fn misspelt(kind: Kind) -> Recognized {
    Recognized::Misspelt(format!("write `apiVersion: {}` and `kind: {}`", kind.info().file_api_version(), kind.name()))
}

/// Our kind that was probably meant.
fn similar(kind: &str) -> Option<Kind> {
    let ours = Kind::ALL.into_iter().filter(|known| known.info().is_ours());
    let meant = super::hint::nearest(kind, ours.clone().map(Kind::name))?;
    ours.into_iter().find(|known| known.name() == meant)
}

fn our_kinds() -> String {
    let ours: Vec<_> = Kind::ALL.into_iter().filter(|known| known.info().is_ours()).map(Kind::name).collect();
    ours.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_its_group_and_version() {
        let read = |kind| Some(Recognized::Read(kind));
        let table = [
            ("mc-wan.l7mp.io/v1alpha1", "WANPolicy", read(Kind::WanPolicy), "ours"),
            ("v1", "Service", read(Kind::Service), "the core group"),
            ("serving.knative.dev/v1", "Service", Some(Recognized::Ignored(None)), "a namesake in another group"),
            ("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", read(Kind::ReferenceGrant), "an older version"),
            ("v1", "List", Some(Recognized::List), "a list"),
            ("apps/v1", "Deployment", Some(Recognized::Ignored(None)), "not read"),
            ("mc-wan.l7mp.io/v1", "ServiceImport", None, "ours in a version that does not exist"),
            ("mcwan.l7mp.io/v1alpha1", "ServiceImport", None, "ours in a group that does not exist"),
            ("v1alpha1", "WANPolicy", None, "ours without a group"),
            ("discovery.k8s.io/v1beta1", "EndpointSlice", None, "a version that is not read"),
            ("mc-wan.l7mp.io/v1alpha1", "WanPolicy", None, "ours in another case"),
            ("mc-wan.l7mp.io/v1alpha1", "Foo", None, "a kind that our group does not have"),
        ];
        for (api_version, kind, expected, message) in table {
            let found = recognize(api_version, kind);
            match expected {
                Some(expected) => assert_eq!(found, expected, "{message}"),
                None => assert!(matches!(found, Recognized::Misspelt(_)), "{message}: {found:?}"),
            }
        }
    }

    #[test]
    fn the_other_service_import_is_ignored_with_a_hint() {
        for version in ["v1alpha1", "v1beta1"] {
            let found = recognize(&format!("{MCS_GROUP}/{version}"), "ServiceImport");
            assert!(matches!(&found, Recognized::Ignored(Some(_))), "{version}: {found:?}");
        }
    }
}
