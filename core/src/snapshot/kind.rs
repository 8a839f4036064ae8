//! The kinds that mcwan reads from files.

use super::change::InputKind;
use crate::api::{self, MCS_GROUP};
use crate::kind::{CLUSTER_CONNECTION, KindInfo, OURS};
use crate::watched::Watched;

/// What an `apiVersion` and a `kind` stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Recognized {
    /// A kind that mcwan reads.
    Read(InputKind, &'static KindInfo),
    /// The items of a `kubectl get -o yaml`.
    List,
    /// A kind that mcwan does not read, and a hint.
    Ignored(Option<String>),
    /// Almost a kind that mcwan reads: how it must be written.
    Misspelt(String),
}

/// Tells what an object is.
pub(super) fn recognize(api_version: &str, kind: &str) -> Recognized {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if (group, version, kind) == ("", "v1", "List") {
        return Recognized::List;
    }
    // Files do not say which namespaces there are.
    let read = Watched::inputs().filter(|(_, input)| *input != InputKind::Namespace);
    match read.map(|(watched, input)| (watched.info(), input)).find(|(known, _)| known.name == kind) {
        Some((known, input)) if known.group == group && known.versions.contains(&version) => {
            Recognized::Read(input, known)
        }
        Some((known, _)) if known.group == group => misspelt(known),
        Some((_, InputKind::ServiceImport)) if group == MCS_GROUP => Recognized::Ignored(Some(format!(
            "the rules of mcwan are in a ServiceImport of `apiVersion: {}/{}`",
            api::GROUP,
            api::VERSION
        ))),
        Some((known, _)) if known.is_ours() => misspelt(known),
        None if group == api::GROUP && version == api::VERSION && kind == CLUSTER_CONNECTION.name => {
            Recognized::Ignored(Some("a controller writes it: it follows from ClusterConnectionPolicies".to_owned()))
        }
        None if group == api::GROUP => match similar(kind) {
            Some(known) => misspelt(known),
            None => Recognized::Misspelt(format!("the kinds of {group} are {}", OURS.map(|ours| ours.name).join(", "))),
        },
        // As it was called before API groups.
        Some((known, InputKind::OpenshiftRoute)) if group.is_empty() => misspelt(known),
        _ => Recognized::Ignored(None),
    }
}

/// What is meant where an object says its kind alone, and that is the name of one of ours.
pub(super) fn of_ours(kind: &str) -> Option<(InputKind, &'static KindInfo)> {
    let mut read = Watched::inputs().map(|(watched, input)| (input, watched.info()));
    read.find(|(_, known)| known.is_ours() && known.name == kind)
}

fn misspelt(kind: &KindInfo) -> Recognized {
    let resource = kind.resource_of(kind.versions.first().unwrap_or(&""));
    Recognized::Misspelt(format!("write `apiVersion: {}` and `kind: {}`", resource.api_version, resource.kind))
}

/// Our kind that was probably meant.
fn similar(kind: &str) -> Option<&'static KindInfo> {
    let meant = super::hint::nearest(kind, OURS.iter().map(|ours| ours.name))?;
    OURS.into_iter().find(|ours| ours.name == meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind;

    #[test]
    fn a_kind_is_told_by_its_group_and_version() {
        let read = |kind, info| Some(Recognized::Read(kind, info));
        let table = [
            ("mc-wan.l7mp.io/v1alpha1", "WANPolicy", read(InputKind::WanPolicy, &kind::WAN_POLICY), "ours"),
            ("v1", "Service", read(InputKind::Service, &kind::SERVICE), "the core group"),
            ("serving.knative.dev/v1", "Service", Some(Recognized::Ignored(None)), "a namesake in another group"),
            (
                "gateway.networking.k8s.io/v1beta1",
                "ReferenceGrant",
                read(InputKind::ReferenceGrant, &kind::REFERENCE_GRANT),
                "an older version",
            ),
            ("v1", "List", Some(Recognized::List), "a list"),
            ("v1", "Namespace", Some(Recognized::Ignored(None)), "what files do not say"),
            ("apps/v1", "Deployment", Some(Recognized::Ignored(None)), "not read"),
            ("mc-wan.l7mp.io/v1", "ServiceImport", None, "ours in a version that does not exist"),
            ("mcwan.l7mp.io/v1alpha1", "ServiceImport", None, "ours in a group that does not exist"),
            ("v1alpha1", "WANPolicy", None, "ours without a group"),
            ("discovery.k8s.io/v1beta1", "EndpointSlice", None, "a version that is not read"),
            ("mc-wan.l7mp.io/v1alpha1", "WanPolicy", None, "ours in another case"),
            ("v1", "Route", None, "a Route of before API groups"),
            ("serving.knative.dev/v1", "Route", Some(Recognized::Ignored(None)), "a namesake"),
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
    fn what_mcwan_says_is_ignored_with_a_hint() {
        let found = recognize("mc-wan.l7mp.io/v1alpha1", "ClusterConnection");
        assert!(matches!(&found, Recognized::Ignored(Some(_))), "{found:?}");
    }

    #[test]
    fn the_other_service_import_is_ignored_with_a_hint() {
        for version in ["v1alpha1", "v1beta1"] {
            let found = recognize(&format!("{MCS_GROUP}/{version}"), "ServiceImport");
            assert!(matches!(&found, Recognized::Ignored(Some(_))), "{version}: {found:?}");
        }
    }
}
