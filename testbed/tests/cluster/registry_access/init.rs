//! `mcwan registry init`.

use anyhow::Result;
use mcwan_testbed::cluster::{Crds, TestCluster};

use super::member::{REGISTRY, done, registry};

const OBJECTS: [&str; 9] = [
    "namespace/mc-wan-registry",
    "customresourcedefinition.apiextensions.k8s.io/exportedservices.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/exportedendpoints.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/wanclusters.mc-wan.l7mp.io",
    "customresourcedefinition.apiextensions.k8s.io/clusterconnectionpolicies.mc-wan.l7mp.io",
    "validatingadmissionpolicy.admissionregistration.k8s.io/mcwan-registry",
    "validatingadmissionpolicybinding.admissionregistration.k8s.io/mcwan-registry",
    "resourcequota/mcwan-registry",
    "role.rbac.authorization.k8s.io/mcwan-cluster",
];

fn lines(word: &str) -> String {
    OBJECTS.map(|object| format!("{object} {word}\n")).concat()
}

#[tokio::test]
async fn it_prepares_an_api_server_and_may_be_run_again() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let ran = registry(&cluster, &["join", "c1"]).await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let refusal = "error: this API server holds no registry, as there is no namespace/mc-wan-registry: run `mcwan registry \
                   init` first";
    assert_eq!(ran.log.trim(), refusal);

    let ran = done(&cluster, &["init"]).await?;
    assert_eq!(ran.out, lines("created"));
    assert!(ran.log.contains("let each cluster join: mcwan registry join CLUSTER > CLUSTER.kubeconfig"), "{}", ran.log);
    // What is used of a quota is counted all the time.
    let still = OBJECTS.into_iter().filter(|object| !object.starts_with("resourcequota/")).collect::<Vec<_>>();
    let versions =
        [["get"].as_slice(), &still, &[REGISTRY, "--output=jsonpath={.items[*].metadata.resourceVersion}"]].concat();
    let before = cluster.kubectl(&versions).await?;
    assert_eq!(done(&cluster, &["init"]).await?.out, lines("unchanged"));
    assert_eq!(cluster.kubectl(&versions).await?, before);

    // What somebody took away or changed is mended.
    cluster.kubectl(&["delete", OBJECTS[6]]).await?;
    let lax = r#"{"spec": {"failurePolicy": "Ignore"}}"#;
    cluster.kubectl(&["patch", OBJECTS[5], "--type=merge", "--patch", lax]).await?;
    let ran = registry(&cluster, &["join", "c1"]).await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.log.contains(&format!("there is no {}", OBJECTS[6])), "{}", ran.log);
    let mended = lines("unchanged")
        .replace(
            "policy.admissionregistration.k8s.io/mcwan-registry unchanged",
            "policy.admissionregistration.k8s.io/mcwan-registry configured",
        )
        .replace(
            "policybinding.admissionregistration.k8s.io/mcwan-registry unchanged",
            "policybinding.admissionregistration.k8s.io/mcwan-registry created",
        );
    assert_eq!(done(&cluster, &["init"]).await?.out, mended);
    Ok(())
}

#[tokio::test]
async fn what_it_prints_is_what_it_applies() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    let printed = registry(&cluster, &["init", "--dry-run", "--kubeconfig", "/nonexistent"]).await?;
    assert_eq!(printed.status, Some(0), "{printed:?}");
    assert!(cluster.kubectl(&["get", "namespace", "mc-wan-registry"]).await.is_err(), "nobody was asked");
    cluster.apply(&printed.out).await?;
    assert_eq!(done(&cluster, &["init"]).await?.out.lines().filter(|line| !line.ends_with(" unchanged")).count(), 0);
    Ok(())
}

#[tokio::test]
async fn kinds_that_came_with_mcwan_are_left_to_it() -> Result<()> {
    let cluster = TestCluster::start_with(&[Crds::Mcwan]).await?;
    let ran = done(&cluster, &["init"]).await?;
    let kinds = [OBJECTS[1], OBJECTS[2], OBJECTS[3]];
    assert_eq!(ran.out, lines("created").replace(".io created", ".io unchanged"), "{ran:?}");
    let column = r#"[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]"#;
    for kind in kinds {
        cluster.kubectl(&["patch", kind, "--type=json", "--patch", column]).await?;
    }
    let ran = done(&cluster, &["init"]).await?;
    for kind in kinds {
        assert!(ran.out.contains(&format!("{kind} left as kubectl made it\n")), "{}", ran.out);
        let warning = format!("warning: {kind} is not as this mcwan knows it, and not ours to change");
        assert!(ran.log.contains(&warning), "{}", ran.log);
    }
    Ok(())
}
