//! What the controller's pods promise to whoever runs the cluster, however they were installed.

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Api;
use mcwan_testbed::cluster::TestCluster;

use super::SYSTEM;

/// Checks the Deployment and the budget that keeps one of its pods.
pub(super) async fn check(cluster: &TestCluster) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), SYSTEM);
    let deployment = deployments.get("mcwan").await?.spec.context("no specification")?;
    assert_eq!(deployment.replicas, Some(2));
    let labels = deployment.template.metadata.and_then(|metadata| metadata.labels).context("pods without labels")?;
    check_pod(&deployment.template.spec.context("no pods")?)?;

    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client(), SYSTEM);
    let budget = budgets.get("mcwan").await?.spec.context("no specification")?;
    let selector = budget.selector.context("a budget of no pods")?;
    assert_eq!(selector.match_expressions, None);
    let wanted = selector.match_labels.context("a budget of all pods")?;
    assert!(wanted.iter().all(|(label, value)| labels.get(label) == Some(value)), "{wanted:?} selects {labels:?}");
    assert_eq!((budget.max_unavailable, budget.min_available), (Some(IntOrString::Int(1)), None));
    Ok(())
}

/// Checks that the pods may do nothing that they need not, and have the room that they need.
pub(super) fn check_pod(pod: &PodSpec) -> Result<()> {
    let context = pod.security_context.as_ref().context("no security context")?;
    assert_eq!(context.run_as_non_root, Some(true));
    assert_eq!(context.seccomp_profile.as_ref().map(|profile| profile.type_.as_str()), Some("RuntimeDefault"));
    let [container] = pod.containers.as_slice() else { panic!("one container: {pod:?}") };
    assert!(is_confined(container), "{:?}", container.security_context);
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let requested: Vec<_> = requests.into_iter().flat_map(|requests| requests.keys()).collect();
    assert_eq!(requested, ["cpu", "memory"]);
    Ok(())
}

/// Whether a container may write nothing and become nobody else.
fn is_confined(container: &Container) -> bool {
    let Some(context) = &container.security_context else { return false };
    let dropped = context.capabilities.as_ref().and_then(|capabilities| capabilities.drop.as_deref());
    context.read_only_root_filesystem == Some(true)
        && context.allow_privilege_escalation == Some(false)
        && dropped.is_some_and(|dropped| dropped == ["ALL"])
}
