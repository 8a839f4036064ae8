//! A service of several clusters, in each of them: all pods take their share, those of the cluster that asks, too.

use anyhow::{Result, ensure};
use mcwan_testbed::wan::TestWan;
use serde_json::{Value, json};

use crate::clusterset::{Caller, Name};
use crate::objects::{mk_echo, mk_export, mk_file, mk_namespace, mk_service};
use crate::scene::LOW;

const NAMESPACE: &str = "late";
const NAME: Name = Name { host: "desk.late.svc.clusterset.local", port: 8080 };

/// Pods of the clusters that export, the older export first, and the share of the second.
const PODS: [(u8, u32); 2] = [(1, 3), (3, 1)];
const SHARE: f64 = 0.25;

/// So many requests tell a share to one in ten.
const MANY: u32 = 400;

/// Clusters 1 and 3 export a service. Cluster 2 gets its namespace when the others have it.
pub(crate) async fn every_pod_takes_its_share(wan: &TestWan) -> Result<()> {
    let (one, two) = (Caller::new(wan, 1, NAME).await?, Caller::new(wan, 2, NAME).await?);
    for (cluster, pods) in PODS {
        let service = [mk_namespace(NAMESPACE), mk_echo(NAMESPACE, "desk", pods), mk_service(NAMESPACE, "desk")];
        wan.cluster(cluster).apply(&mk_file(&service)).await?;
        wan.cluster(cluster).apply(&mk_file(&[mk_export(NAMESPACE, "desk", LOW.0)])).await?;
        one.until_answered_by(&if cluster == 1 { vec![1] } else { vec![1, 3] }).await?;
    }
    until_split(wan, &one).await?;

    ensure!(two.ask().await.is_none(), "cluster 2 has not got the namespace, and yet a name in it");
    wan.cluster(2).apply(&mk_file(&[mk_namespace(NAMESPACE)])).await?;
    two.until_answered_by(&[1, 3]).await?;

    distribute(wan, "PreferClose".into()).await?;
    one.until_answered_by(&[1]).await?;
    two.until_answered_by(&[1, 3]).await?;
    distribute(wan, Value::Null).await?;
    one.until_answered_by(&[1, 3]).await
}

/// Lets the oldest export say how requests are distributed.
async fn distribute(wan: &TestWan, how: Value) -> Result<()> {
    let change = json!({"spec": {"trafficDistribution": how}}).to_string();
    wan.cluster(1).kubectl(&["patch", "service", "desk", "-n", NAMESPACE, "-p", &change]).await.map(drop)
}

async fn until_split(wan: &TestWan, caller: &Caller<'_>) -> Result<()> {
    wan.until("each pod takes its share", async || {
        let mut others = 0;
        for _ in 0..MANY {
            let Some(by) = caller.ask().await else { return Ok(false) };
            others += u32::from(by != "cluster-1");
        }
        Ok((f64::from(others) / f64::from(MANY) - SHARE).abs() <= 0.1)
    })
    .await
}
