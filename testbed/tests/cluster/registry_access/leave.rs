//! `mcwan registry leave`.

use std::time::Duration;

use anyhow::Result;
use mcwan_testbed::cluster::TestCluster;
use mcwan_testbed::wait::until;

use super::member::{Member, REGISTRY, done, pods_of, registry};

const SOON: Duration = Duration::from_mins(2);

#[tokio::test]
async fn who_has_left_can_do_nothing_and_nothing_of_it_is_left() -> Result<()> {
    let cluster = TestCluster::start_with(&[]).await?;
    done(&cluster, &["init"]).await?;
    // A name that begins as another.
    let (c1, c10) = (Member::join(&cluster, "c1").await?, Member::join(&cluster, "c10").await?);
    c1.publish(&["payment", "stats"]).await?;
    c10.publish(&["payment"]).await?;
    let pods = c1.kubectl("apply --server-side -f -", &pods_of("c1.secure.payment.payment-x7k", "c1")).await?;
    assert_eq!(pods.status, Some(0), "{pods:?}");

    let ran = done(&cluster, &["leave", "c1"]).await?;
    let expected = "rolebinding.rbac.authorization.k8s.io/mcwan-cluster.c1 deleted\n\
                    serviceaccount/c1 deleted\n\
                    secret/c1 deleted\n\
                    2 exportedservices.mc-wan.l7mp.io deleted\n\
                    1 exportedendpoints.mc-wan.l7mp.io deleted\n\
                    wancluster.mc-wan.l7mp.io/c1 deleted\n\
                    lease.coordination.k8s.io/c1 deleted\n";
    assert!(ran.out == expected || ran.out == expected.replace("secret/c1 deleted\n", ""), "{}", ran.out);
    assert!(c1.publish(&[]).await.is_err(), "from now on");
    until(SOON, "the token is known no longer", async || {
        let ran = c1.kubectl("get wanclusters", "").await?;
        Ok(ran.log.contains("Unauthorized") || ran.log.contains("must be logged in"))
    })
    .await?;
    let all = "wanclusters,exportedservices,exportedendpoints,leases,rolebindings,secrets,serviceaccounts";
    let left = cluster.kubectl(&["get", all, REGISTRY, "--output=name"]).await?;
    assert!(!left.contains("c1\n") && !left.contains("c1.secure"), "{left}");
    assert!(left.contains("wancluster.mc-wan.l7mp.io/c10\n") && left.contains("/c10.secure.payment\n"), "{left}");
    c10.publish(&["stats"]).await?;

    let ran = registry(&cluster, &["leave", "c1"]).await?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.log.contains("there is nothing of c1"), "{}", ran.log);

    let again = Member::join(&cluster, "c1").await?;
    again.publish(&["payment"]).await?;
    assert!(c1.kubectl("get wanclusters", "").await?.status != Some(0), "old credentials stay what they are");
    Ok(())
}
