//! Whether a controller is at work.

use anyhow::Context;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client};

use crate::cli::age;
use crate::cli::cluster::{CONTROLLER, SYSTEM_NAMESPACE};
use crate::cli::lease::is_renewed;

/// Who leads the controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leader {
    /// This one.
    Is(String),
    /// Nobody, and what is known of the one before.
    Nobody(String),
    /// We may not see the lease.
    Unknown,
}

/// What is missing.
pub(super) struct Missing {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Leader {
    pub(super) async fn find(client: &Client, now: &Time) -> anyhow::Result<Self> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
        match leases.get_opt(CONTROLLER).await {
            Ok(lease) => Ok(Self::by(lease.as_ref(), now)),
            Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(Self::Unknown),
            Err(error) => Err(error).context("the lease of the controller cannot be read"),
        }
    }

    fn by(lease: Option<&Lease>, now: &Time) -> Self {
        let Some(spec) = lease.and_then(|lease| lease.spec.as_ref()) else {
            return Self::Nobody("there is no controller".to_owned());
        };
        let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty());
        let (Some(holder), Some(renewed)) = (holder, &spec.renew_time) else {
            return Self::Nobody("the controller has stopped".to_owned());
        };
        if is_renewed(spec, now) {
            Self::Is(holder.to_owned())
        } else {
            Self::Nobody(format!("the controller {holder} was last seen {} ago", age::age(&Time(renewed.0), now)))
        }
    }

    /// What is said where nobody leads.
    pub(super) fn is_missing(&self) -> Option<Missing> {
        match self {
            Self::Is(_) | Self::Unknown => None,
            Self::Nobody(what) => Some(Missing {
                what: format!("{what}, so nothing follows changes"),
                hint: format!("see `kubectl get pods -n {SYSTEM_NAMESPACE}`"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_leader_is_who_renewed_the_lease_lately() {
        let lease = |holder: &str, renewed: i64| -> Lease {
            let renewed = format!("{:.6}", Timestamp::from_second(renewed).unwrap());
            let spec = json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15});
            serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap()
        };
        let now = Time(Timestamp::from_second(1000).unwrap());
        let nobody = |what: &str| Leader::Nobody(what.to_owned());
        let table = [
            (None, nobody("there is no controller")),
            (Some(lease("", 1000)), nobody("the controller has stopped")),
            (Some(lease("a", 995)), Leader::Is("a".to_owned())),
            (Some(lease("a", 1010)), Leader::Is("a".to_owned())),
            (Some(lease("a", 500)), nobody("the controller a was last seen 8m ago")),
        ];
        for (lease, expected) in table {
            assert_eq!(Leader::by(lease.as_ref(), &now), expected, "{lease:?}");
        }
    }
}
