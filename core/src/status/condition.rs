//! Conditions, and what has changed of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde_json::json;

use super::{StatusKind, StatusPatch};
use crate::api::{ClusterConnection, McsServiceImport, ServiceExport, ServiceImport, WanPolicy};
use crate::json::put_at;
use crate::problem::Reason;
use crate::snapshot::{Key, Snapshot, Unreadable};

/// The object: it is as it should be.
pub(super) const ACCEPTED: &str = "Accepted";
/// Present only where it is true: rules or hosts of the object do not hold, but the rest does (Gateway API,
/// `RouteConditionPartiallyInvalid`).
pub(super) const PARTIALLY_INVALID: &str = "PartiallyInvalid";
/// A router lets clients in by it (`RouteAdmitted`).
pub(super) const ADMITTED: &str = "Admitted";
/// Everything that it refers to is there.
pub(super) const RESOLVED_REFS: &str = "ResolvedRefs";
/// Gateways do what it says.
pub(super) const PROGRAMMED: &str = "Programmed";

/// Present only where it is true: what is known of the clusters that an import can be had from may be out of date.
pub(super) const STALE: &str = "Stale";

/// An object with the conditions that it has.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'o> {
    /// Its metadata.
    pub metadata: &'o ObjectMeta,
    /// Its conditions, those of other writers among them.
    pub conditions: &'o [Condition],
}

/// The type of an Event that tells news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsType {
    /// All is as it should be.
    Normal,
    /// Something is not.
    Warning,
}

/// A change that people may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The type of its Event.
    pub news_type: NewsType,
    /// The reason.
    pub reason: Reason,
    /// The message, at most 1,024 bytes.
    pub message: String,
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Saying {
    pub(super) condition: &'static str,
    pub(super) status: bool,
    pub(super) reason: Reason,
    /// What else is a reason: a condition has them joined by commas.
    pub(super) more: Vec<Reason>,
    pub(super) message: String,
}

impl<'o> Subject<'o> {
    /// A `ServiceImport`.
    pub fn service_import(import: &'o ServiceImport) -> Self {
        let conditions = import.status.as_ref().map_or(&[][..], |status| &status.conditions);
        Self { metadata: &import.metadata, conditions }
    }

    /// A `WANPolicy`.
    pub fn wan_policy(policy: &'o WanPolicy) -> Self {
        let conditions = policy.status.as_ref().map_or(&[][..], |status| &status.conditions);
        Self { metadata: &policy.metadata, conditions }
    }

    /// A `ClusterConnection`.
    pub fn cluster_connection(connection: &'o ClusterConnection) -> Self {
        let conditions = connection.status.as_ref().map_or(&[][..], |status| &status.conditions);
        Self { metadata: &connection.metadata, conditions }
    }

    /// A `ServiceExport`.
    pub fn service_export(export: &'o ServiceExport) -> Self {
        Self { metadata: &export.metadata, conditions: &export.status.conditions }
    }

    /// What is said of the `ServiceImport` of an import, be it readable or not; none, where nobody wrote one.
    pub fn of_import(snapshot: &'o Snapshot, key: &Key) -> Option<Self> {
        let readable = snapshot.service_imports.get(&key.namespace, &key.name).map(Self::service_import);
        readable.or_else(|| {
            let Unreadable { metadata, conditions, .. } = snapshot.unreadable_imports.get(&key.namespace, &key.name)?;
            Some(Self { metadata, conditions })
        })
    }

    /// A `ServiceImport` of the Multi-Cluster Services API.
    pub fn mcs_service_import(import: &'o McsServiceImport) -> Self {
        Self { metadata: &import.metadata, conditions: &import.status.conditions }
    }

    /// What changes until the conditions of types `ours` say this and nothing else.
    pub(super) fn patch(
        self,
        kind: StatusKind,
        ours: &[&str],
        sayings: Vec<Saying>,
        now: &Time,
    ) -> Option<StatusPatch> {
        let (patch, is_same) = self.said(kind, ours, sayings, now);
        (!is_same).then_some(patch)
    }

    /// The same whether it changes or not, which is told, too.
    pub(super) fn said(self, kind: StatusKind, ours: &[&str], sayings: Vec<Saying>, now: &Time) -> (StatusPatch, bool) {
        let observed = |condition: &str| self.conditions.iter().find(|observed| observed.type_ == condition);
        let was_stale = ours.contains(&STALE) && observed(STALE).is_some();
        let is_over = was_stale && !sayings.iter().any(|saying| saying.condition == STALE);
        let news = sayings.iter().filter_map(|saying| saying.news(observed(saying.condition)));
        let news = news.chain(is_over.then(News::up_to_date)).collect();
        let generation = self.metadata.generation;
        let conditions: Vec<_> =
            sayings.into_iter().map(|saying| saying.into_condition(generation, observed, now)).collect();
        let said = |condition: &str| conditions.iter().find(|said| said.type_ == condition);
        let is_same = ours.iter().all(|condition| observed(condition) == said(condition));
        let (key, resource) = (Key::of(self.metadata), kind.api_resource());
        let mut body = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": &*key.name},
            "status": {"conditions": conditions},
        });
        if !key.namespace.is_empty() {
            put_at(&mut body, &["metadata", "namespace"], &*key.namespace);
        }
        (StatusPatch { kind, key, uid: self.metadata.uid.clone(), body, news }, is_same)
    }
}

impl News {
    /// What was out of date is no more.
    fn up_to_date() -> Self {
        let message = "all clusters that have the service are heard of again".to_owned();
        Self { news_type: NewsType::Normal, reason: Reason::UpToDate, message }
    }
}

impl Saying {
    pub(super) fn new(condition: &'static str, status: bool, reason: Reason, message: impl Into<String>) -> Self {
        Self { condition, status, reason, more: Vec::new(), message: message.into() }
    }

    /// What a condition has as its reason.
    fn reasons(&self) -> String {
        let reasons: Vec<_> = std::iter::once(&self.reason).chain(&self.more).map(Reason::to_string).collect();
        reasons.join(",")
    }

    fn into_condition<'o>(
        self,
        generation: Option<i64>,
        observed: impl Fn(&str) -> Option<&'o Condition>,
        now: &Time,
    ) -> Condition {
        let status = status_text(self.status);
        let since = observed(self.condition).filter(|observed| observed.status == status);
        Condition {
            type_: self.condition.to_owned(),
            status: status.to_owned(),
            reason: self.reasons(),
            message: self.message,
            observed_generation: generation,
            last_transition_time: since.map_or(now, |observed| &observed.last_transition_time).clone(),
        }
    }

    fn news_type(&self) -> NewsType {
        let bad = matches!(
            self.condition,
            PARTIALLY_INVALID | STALE | ServiceExport::CONFLICT | ClusterConnection::CONFLICTED
        );
        if self.status == bad { NewsType::Warning } else { NewsType::Normal }
    }

    /// Bad news is a new status or reason, but that something is on its way; good news is that all is well in the end.
    fn news(&self, observed: Option<&Condition>) -> Option<News> {
        let news_type = self.news_type();
        let same_status = observed.is_some_and(|observed| observed.status == status_text(self.status));
        let same_reason = observed.is_some_and(|observed| {
            // Who holds, where clusters disagree, stands in the message alone.
            observed.reason == self.reasons()
                && (self.condition != ServiceExport::CONFLICT || observed.message == self.message)
        });
        let is_news = match news_type {
            NewsType::Normal => {
                let is_told_when_over = matches!(
                    self.condition,
                    ServiceExport::VALID
                        | ServiceExport::CONFLICT
                        | ClusterConnection::PERMITTED
                        | ClusterConnection::CONFLICTED
                );
                let is_over = observed.is_some() && is_told_when_over;
                !same_status
                    && (is_over || matches!(self.condition, ACCEPTED | ADMITTED | PROGRAMMED | ServiceExport::READY))
            }
            NewsType::Warning => !(same_status && same_reason) && self.reason != Reason::Pending,
        };
        is_news.then(|| News { news_type, reason: self.reason, message: self.message.clone() })
    }
}

fn status_text(status: bool) -> &'static str {
    if status { "True" } else { "False" }
}
