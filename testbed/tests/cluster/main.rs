//! The real API server: what tests of the controller rely on.

use mcwan_testbed::cluster::TestCluster;

#[tokio::test]
async fn a_cluster_serves_our_resources_and_those_of_others() {
    let cluster = TestCluster::start().await.unwrap();
    let served = cluster.kubectl(&["api-resources", "-o", "name"]).await.unwrap();
    for resource in [
        "serviceimports.mc-wan.l7mp.io",
        "httproutes.gateway.networking.k8s.io",
        "wasmplugins.extensions.istio.io",
        "serviceexports.multicluster.x-k8s.io",
    ] {
        assert!(served.lines().any(|line| line == resource), "{resource} is not among\n{served}");
    }
}
