//! Which clusters may use which tier: policies that come and go under load, and controllers and a registry that are away.

mod away;
mod dials;
mod exporters;
mod permitted;
mod policies;
mod told;
mod watch;

use anyhow::Result;
use mcwan_testbed::wan::{Plan, TestWan, WanClient};
use serde_json::{Value, json};

use crate::audit::{FULL, MODERATE};
use crate::objects::{mk_echo, mk_export, mk_file, mk_import, mk_namespace, mk_service};
use crate::scene::whole_machine;
use permitted::{CLOUD, CONSUMER, EXPORTERS, HIGH, LOW, NEAR, PAYMENT, Permitted, REQUESTS, SEC, STATS, TIERS, Tier};
use policies::{DEFAULT, TO_CLOUD, label, mk_of_consumer, mk_policy, mk_to_cloud, take_away, write};
use watch::Watch;

/// How often policies come and go.
const ONCE: usize = 1;
const OFTEN: usize = 5;

#[tokio::test]
async fn requests_take_the_tiers_that_their_clusters_may_use() -> Result<()> {
    let _turn = whole_machine().await;
    requests_take_permitted_tiers(MODERATE.rate, ONCE).await
}

#[tokio::test]
#[ignore = "takes minutes, and a machine that does nothing else: cargo xtask test --full"]
async fn requests_take_the_tiers_that_their_clusters_may_use_at_any_time() -> Result<()> {
    let _turn = whole_machine().await;
    requests_take_permitted_tiers(FULL.rate, OFTEN).await
}

async fn requests_take_permitted_tiers(rate: u32, times: usize) -> Result<()> {
    let (mut wan, client) = start().await?;
    dials::far_gateways_admit(&wan, &client, Permitted::EVERYTHING).await?;
    let mut watch = Watch::start(&wan, &client, rate).await?;
    for time in 0..times {
        if time > 0 {
            a_cluster_returns_to_the_cloud(&wan, &mut watch).await?;
        }
        policies_come_and_go(&wan, &client, &mut watch).await?;
    }
    away::no_controller_where_requests_start(&mut wan, &client, &mut watch).await?;
    away::the_registry_is_away(&wan, &mut watch).await?;
    watch.finish(&wan).await?;
    exporters::the_path_to_one_of_two_is_bad(&wan, &client).await
}

/// Starts three clusters: 1 and 2 on the premises, 3 in the cloud. 1 and 3 export what 2 imports; 1 has the registry.
async fn start() -> Result<(TestWan, WanClient)> {
    let arguments = ["--cable-drivers", "ipsec,vxlan", "--lease-seconds", "5"];
    let plan = Plan::default().clusters(3).label(CONSUMER, "env=on-premise").label(CLOUD, "env=cloud");
    let wan = TestWan::start(plan.arguments(&arguments)).await?;
    label(&wan, NEAR, "env=on-premise").await?;
    wan.apply_everywhere(&mk_file(&[mk_namespace("secure")])).await?;
    wan.apply_everywhere(&mk_file(&TIERS.map(mk_tier))).await?;
    for cluster in EXPORTERS {
        let services = if cluster == CLOUD { &[PAYMENT, STATS][..] } else { &[PAYMENT] };
        let objects = services.iter().flat_map(|service| {
            let pods = [mk_echo("secure", service, 2), mk_service("secure", service)];
            pods.into_iter().chain([mk_export("secure", service, LOW.name)])
        });
        wan.cluster(cluster).apply(&mk_file(&objects.collect::<Vec<_>>())).await?;
    }
    let imports = [PAYMENT, STATS].map(|service| mk_import("secure", service, &mk_rules(service)));
    wan.cluster(CONSUMER).apply(&mk_file(&imports)).await?;
    let client = wan.client(CONSUMER).await?;
    wan.until("requests cross by every gateway", async || {
        let gateways = wan.cluster(CONSUMER).endpoints("secure", "payment-clusterset", 8080).await?;
        for gateway in &gateways {
            for request in REQUESTS {
                let answer = client.send(*gateway, &request.request()).await;
                if !answer.is_ok_and(|answer| answer.status == 200) {
                    return Ok(false);
                }
            }
        }
        Ok(gateways.len() >= 2)
    })
    .await?;
    Ok((wan, client))
}

fn mk_tier(tier: Tier) -> Value {
    json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {"name": tier.name},
        "spec": {"port": tier.port, "cableDriver": tier.driver}})
}

/// Each path of a service takes its tier.
fn mk_rules(service: &str) -> Value {
    let rules = REQUESTS.iter().filter(|request| request.service == service).map(|request| {
        let backend = json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": request.tier.name});
        json!({"matches": [{"path": {"type": "PathPrefix", "value": request.path}}], "backendRefs": [backend]})
    });
    rules.collect()
}

/// Policies come, loosen, tighten, conflict and go, and a cluster is moved out of the cloud.
async fn policies_come_and_go(wan: &TestWan, client: &WanClient, watch: &mut Watch) -> Result<()> {
    let in_the_clear = Permitted { near: &[HIGH, LOW], cloud: &[SEC] };
    watch.tell("policies come", in_the_clear);
    // The first takes away the most between the consumer and the cloud: with it alone nothing is lost that stays.
    write(wan, &[mk_to_cloud(), mk_policy(DEFAULT, &json!({"cableDriver": "vxlan"}))]).await?;
    watch.until_held(wan).await?;
    dials::far_gateways_admit(wan, client, in_the_clear).await?;
    told::pairs_are_told(wan).await?;

    watch.tell("a policy loosens", Permitted { near: &TIERS, cloud: &[SEC] });
    write(wan, &[mk_policy(DEFAULT, &json!({}))]).await?;
    watch.until_held(wan).await?;

    watch.tell("a policy tightens", Permitted { near: &[LOW], cloud: &[SEC] });
    write(wan, &[mk_policy(DEFAULT, &json!({"tiers": ["low"]}))]).await?;
    watch.until_held(wan).await?;

    watch.tell("policies conflict", Permitted { near: &[LOW], cloud: &[] });
    write(wan, &[mk_of_consumer(&["low"])]).await?;
    watch.until_held(wan).await?;
    told::a_conflict_is_told(wan, None).await?;

    watch.tell("the older of two policies holds", Permitted { near: &[LOW], cloud: &[SEC] });
    write(wan, &[mk_policy(DEFAULT, &json!({"tiers": ["low"], "noConnectOnConflict": false}))]).await?;
    watch.until_held(wan).await?;
    told::a_conflict_is_told(wan, Some(TO_CLOUD)).await?;

    // Only the newer takes it by its name.
    watch.tell("a cluster leaves the cloud", Permitted { near: &[LOW], cloud: &[LOW] });
    label(wan, CLOUD, "env=on-premise").await?;
    watch.until_held(wan).await?;

    watch.tell("policies go", Permitted::EVERYTHING);
    take_away(wan).await?;
    watch.until_held(wan).await
}

/// The policy is there before: nobody hears of it before the label.
async fn a_cluster_returns_to_the_cloud(wan: &TestWan, watch: &mut Watch) -> Result<()> {
    watch.tell("a cluster returns to the cloud", Permitted { near: &TIERS, cloud: &[SEC] });
    write(wan, &[mk_to_cloud()]).await?;
    label(wan, CLOUD, "env=cloud").await?;
    watch.until_held(wan).await
}
