//! Istio and Gateway API have nothing to say against what we emit.

use anyhow::{Context, Result, ensure};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use mcwan_core::emit::kubernetes::{MANAGED_BY_LABEL, MANAGER};
use mcwan_core::emit::object::Kind;
use mcwan_testbed::istiod::analyze::{Finding, Level, analyze};
use mcwan_testbed::wan::{TestWan, WanCluster};
use serde_json::Value;

/// What Istio says of its own copies: it puts the annotations of a Gateway on what it generates for it, where this one
/// has no place.
const MISPLACED: (&str, &str) = ("IST0107", "networking.istio.io/service-type");
const GENERATED: [&str; 4] = ["Deployment", "Pod", "Service", "ServiceAccount"];

/// Nothing is wrong with what we emit in any cluster.
pub(crate) async fn all_is_well(wan: &TestWan) -> Result<()> {
    gateways_and_routes_are_accepted_and_programmed(wan).await?;
    istio_finds_nothing_wrong(wan).await
}

async fn istio_finds_nothing_wrong(wan: &TestWan) -> Result<()> {
    for cluster in wan.clusters() {
        let found = analyze(cluster).await?;
        let wrong: Vec<_> =
            found.iter().filter(|finding| finding.level > Level::Info && !is_of_istio(finding)).collect();
        ensure!(wrong.is_empty(), "in {}, istioctl finds {wrong:#?}", cluster.id());
        ensure!(found.iter().any(is_of_istio), "in {}, it does not look at the gateways: {found:#?}", cluster.id());
    }
    Ok(())
}

async fn gateways_and_routes_are_accepted_and_programmed(wan: &TestWan) -> Result<()> {
    for cluster in wan.clusters() {
        let all = async || {
            let (gateways, routes) = (emitted(cluster, Kind::Gateway).await?, emitted(cluster, Kind::HttpRoute).await?);
            ensure!(!gateways.is_empty() && !routes.is_empty(), "there are none");
            Ok(gateways.iter().all(is_programmed) && routes.iter().all(is_accepted))
        };
        let what = format!("all Gateways and HTTPRoutes of {} are accepted and programmed", cluster.id());
        let wait = wan.until(&what, all).await;
        if wait.is_err() {
            for kind in [Kind::Gateway, Kind::HttpRoute] {
                for object in emitted(cluster, kind).await? {
                    eprintln!("{} {}: {}", kind.name(), object.name_any(), object.data["status"]);
                }
            }
        }
        wait?;
    }
    Ok(())
}

fn is_of_istio(finding: &Finding) -> bool {
    let kind = finding.origin.split(' ').next().unwrap_or_default();
    finding.code == MISPLACED.0 && finding.message.contains(MISPLACED.1) && GENERATED.contains(&kind)
}

/// What we emit of a kind, in all namespaces.
async fn emitted(cluster: &WanCluster, kind: Kind) -> Result<Vec<DynamicObject>> {
    let objects: Api<DynamicObject> = Api::all_with(cluster.client(), &kind.api_resource());
    let ours = ListParams::default().labels(&format!("{MANAGED_BY_LABEL}={MANAGER}"));
    Ok(objects.list(&ours).await.context("what is emitted")?.items)
}

/// Whether a Gateway as it is now is in force, with each of its listeners.
fn is_programmed(gateway: &DynamicObject) -> bool {
    let status = &gateway.data["status"];
    let generation = gateway.metadata.generation;
    let listeners = status["listeners"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted = gateway.data["spec"]["listeners"].as_array().map_or(0, Vec::len);
    holds(status, "Accepted", "True", generation)
        && holds(status, "Programmed", "True", generation)
        && listeners.len() == wanted
        && listeners.iter().all(|listener| {
            let holds = |condition, expected| holds(listener, condition, expected, generation);
            holds("Accepted", "True") && holds("Programmed", "True") && holds("ResolvedRefs", "True")
        })
}

/// Whether all that a route refers to takes it as it is now.
fn is_accepted(route: &DynamicObject) -> bool {
    let parents = route.data["status"]["parents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let generation = route.metadata.generation;
    !parents.is_empty()
        && parents.iter().all(|parent| {
            holds(parent, "Accepted", "True", generation) && holds(parent, "ResolvedRefs", "True", generation)
        })
}

fn holds(status: &Value, condition: &str, expected: &str, generation: Option<i64>) -> bool {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = conditions.iter().filter(|one| one["type"] == condition);
    found.any(|one| one["status"] == expected && one["observedGeneration"].as_i64() == generation)
}
