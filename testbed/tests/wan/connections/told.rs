//! What people and programs are told of pairs of clusters.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use mcwan_testbed::tools;
use mcwan_testbed::wan::TestWan;
use serde_json::{Value, json};
use tokio::process::Command;

use super::permitted::{CONSUMER, NEAR, SEC};

/// While the consumer and the cluster near it have what is not encrypted, and the one in the cloud what is.
pub(crate) async fn pairs_are_told(wan: &TestWan) -> Result<()> {
    let near = json!({
        "state": "Connected", "policy": "default", "cableDriver": "vxlan",
        "tiers": [
            {"name": "high", "port": 31_111, "permitted": true},
            {"name": "low", "port": 31_112, "permitted": true},
            {"name": "sec", "port": 31_113, "permitted": false, "reason": "NotInPolicy"},
        ],
        "conditions": [["Conflicted", "False", "NoConflicts"], ["Permitted", "True", "Permitted"]],
    });
    let cloud = json!({
        "state": "Connected", "policy": "on-prem-to-cloud", "cableDriver": "ipsec",
        "tiers": [
            {"name": "high", "port": 31_111, "permitted": false, "reason": "NotInPolicy"},
            {"name": "low", "port": 31_112, "permitted": false, "reason": "NotInPolicy"},
            {"name": "sec", "port": 31_113, "permitted": true},
        ],
        "conditions": [["Conflicted", "False", "NoConflicts"], ["Permitted", "True", "Permitted"]],
    });
    until_connections_are(wan, CONSUMER, &[("cluster-1", &near), ("cluster-3", &cloud)]).await?;
    until_connections_are(wan, NEAR, &[("cluster-2", &near), ("cluster-3", &cloud)]).await?;

    let all = mcwan(wan, NEAR, &["clusters"]).await?;
    has_rows(
        &all,
        &[
            "cluster-1 (this) Live ipsec,vxlan env=on-premise",
            "cluster-2 Live ipsec,vxlan env=on-premise",
            "cluster-3 Live ipsec,vxlan env=cloud",
            "PAIRS cluster-1 cluster-2 cluster-3",
            "cluster-1 = high,low sec",
            "cluster-2 high,low = sec",
            "cluster-3 sec sec =",
        ],
    )?;
    let pair = mcwan(wan, NEAR, &["clusters", "cluster-2", "cluster-3"]).await?;
    has_rows(
        &pair,
        &[
            "cluster-2 and cluster-3: Connected; policy on-prem-to-cloud holds",
            "on-prem-to-cloud yes matches: leftClusterSelector takes cluster-3, rightClusterSelector takes cluster-2",
            "default no is for pairs that no other matches",
            "high 31111 no NotInPolicy: policy on-prem-to-cloud asks for cable driver ipsec",
            "sec 31113 yes",
        ],
    )?;
    the_import_names_the_policy(wan).await?;
    the_chain_names_the_policies(wan).await
}

/// The import of what the cluster in the cloud alone exports.
async fn the_import_names_the_policy(wan: &TestWan) -> Result<()> {
    let resolved = "jsonpath={.status.conditions[?(@.type=='ResolvedRefs')]}";
    let import = ["get", "serviceimports.mc-wan.l7mp.io", "stats", "--namespace", "secure", "--output", resolved];
    let mut told = String::new();
    let wait = wan.until("the import names the policy", async || {
        told = wan.cluster(CONSUMER).kubectl(&import).await?;
        let Ok(condition) = serde_json::from_str::<Value>(&told) else { return Ok(false) };
        let is_so = condition["status"] == "False" && condition["reason"] == "TierNotPermitted";
        Ok(is_so && condition["message"].as_str().is_some_and(|message| message.contains("on-prem-to-cloud")))
    });
    wait.await.with_context(|| told.clone())
}

/// What `mcwan status` says of the import that leads to both.
async fn the_chain_names_the_policies(wan: &TestWan) -> Result<()> {
    let connections = [
        "connection cluster-1 by high, low: no policy matches, so that default holds",
        "connection cluster-3 by sec: policy on-prem-to-cloud holds",
    ];
    let registry = wan.cluster(NEAR).admin_kubeconfig();
    let registry = registry.to_str().context("a folder whose name is not text")?;
    let status = ["status", "payment", "--namespace", "secure", "--registry-kubeconfig", registry];
    let mut told = String::new();
    let wait = wan.until("the chain names the policies", async || {
        told = mcwan(wan, CONSUMER, &status).await?;
        let lines: Vec<_> = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        Ok(connections.iter().all(|connection| lines.iter().any(|line| line.contains(connection))))
    });
    wait.await.with_context(|| told.clone())
}

/// While the path over the tier that both exporters may be reached by is late to the one that is near: in its connection, in
/// an Event, and as routers do.
pub(crate) async fn what_is_measured_is_told(wan: &TestWan) -> Result<()> {
    for (other, level, reason, out) in [("cluster-1", "Out", "Latency", 2), ("cluster-3", "In", "InSla", 0)] {
        let get = ["get", "clusterconnection", other, "--namespace", "mc-wan", "--output", "json"];
        let mut told = Value::Null;
        let wait = wan.until("what is measured is told", async || {
            let object: Value = serde_json::from_str(&wan.cluster(CONSUMER).kubectl(&get).await?)?;
            let tiers = object["status"]["tiers"].as_array().into_iter().flatten();
            told = tiers.filter(|tier| tier["name"] == SEC.name).map(|tier| tier["measured"].clone()).collect();
            let [measured] = told.as_array().map(Vec::as_slice).unwrap_or_default() else { return Ok(false) };
            let is_so =
                [("level", json!(level)), ("reason", json!(reason)), ("pods", json!(2)), ("podsOut", json!(out))];
            Ok(is_so.iter().all(|(field, value)| measured[field] == *value) && measured["httpStatus"] == 404)
        });
        wait.await.with_context(|| format!("{other}: {told}"))?;
    }
    let event = "get events --namespace mc-wan --output jsonpath={.items[?(@.reason=='Latency')].message} \
                 --field-selector involvedObject.kind=ClusterConnection,involvedObject.name=cluster-1";
    let event: Vec<_> = event.split_whitespace().collect();
    let has_event = async || Ok(wan.cluster(CONSUMER).kubectl(&event).await?.contains("tier sec is Out at"));
    wan.until("an Event tells of it", has_event).await?;
    let registry = wan.cluster(NEAR).admin_kubeconfig();
    let registry = registry.to_str().context("a folder whose name is not text")?;
    let shown = mcwan(wan, CONSUMER, &["clusters", "--registry-kubeconfig", registry]).await?;
    let begin = ["sec cluster-1 Out Latency", "sec cluster-3 In InSla"];
    let rows: Vec<_> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in begin {
        ensure!(rows.iter().any(|line| line.starts_with(row)), "{row:?} is missing:\n{shown}");
    }
    Ok(())
}

/// While two policies match the consumer and the cloud, and none of them holds, or the older.
pub(crate) async fn a_conflict_is_told(wan: &TestWan, holds: Option<&str>) -> Result<()> {
    let reason = if holds.is_some() { "NotInPolicy" } else { "PolicyConflict" };
    let refused = |name: &str, port: u16| json!({"name": name, "port": port, "permitted": false, "reason": reason});
    let sec = match holds {
        Some(_) => json!({"name": "sec", "port": 31_113, "permitted": true}),
        None => refused("sec", 31_113),
    };
    let permitted = match holds {
        Some(_) => json!(["Permitted", "True", "Permitted"]),
        None => json!(["Permitted", "False", "PolicyConflict"]),
    };
    let mut cloud = json!({
        "state": "Conflict", "conflictingPolicies": ["consumer-to-cloud", "on-prem-to-cloud"],
        "tiers": [refused("high", 31_111), refused("low", 31_112), sec],
        "conditions": [["Conflicted", "True", "PolicyConflict"], permitted],
    });
    if let Some(policy) = holds {
        cloud["policy"] = json!(policy);
        cloud["cableDriver"] = json!("ipsec");
    }
    until_connections_are(wan, CONSUMER, &[("cluster-3", &cloud)]).await?;
    let pair = mcwan(wan, NEAR, &["clusters", "cluster-3", "cluster-2"]).await?;
    let basis = match holds {
        Some(policy) => format!("of which {policy} holds"),
        None => "so that none holds".to_owned(),
    };
    let first =
        format!("cluster-3 and cluster-2: Conflict; policies consumer-to-cloud, on-prem-to-cloud match, {basis}");
    has_rows(&pair, &[&first])
}

/// Waits until a cluster's `ClusterConnection`s to others have this status, of each condition its type, status and reason.
async fn until_connections_are(wan: &TestWan, cluster: u8, expected: &[(&str, &Value)]) -> Result<()> {
    for (other, expected) in expected {
        let get = ["get", "clusterconnection", other, "--namespace", "mc-wan", "--output", "json"];
        let mut told = Value::Null;
        let wait = wan.until("a connection is told of", async || {
            let object: Value = serde_json::from_str(&wan.cluster(cluster).kubectl(&get).await?)?;
            told = object["status"].clone();
            let conditions = told["conditions"].as_array().into_iter().flatten();
            let mut brief: Vec<_> = conditions.map(|it| json!([it["type"], it["status"], it["reason"]])).collect();
            brief.sort_by_key(Value::to_string);
            told["conditions"] = Value::Array(brief);
            Ok(told == **expected)
        });
        wait.await.with_context(|| format!("cluster-{cluster} and {other}: {told}"))?;
    }
    Ok(())
}

/// Makes sure that a text has these lines, whatever the space between their words.
fn has_rows(text: &str, rows: &[&str]) -> Result<()> {
    let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in rows {
        ensure!(text.lines().any(|line| squeeze(line) == *row), "{row:?} is missing:\n{text}");
    }
    Ok(())
}

/// Runs `mcwan` as administrator of a cluster; returns what it prints.
async fn mcwan(wan: &TestWan, cluster: u8, arguments: &[&str]) -> Result<String> {
    let cluster = wan.cluster(cluster);
    let mut mcwan = Command::new(tools::controller()?);
    mcwan.args(arguments).args(["--cluster", &cluster.id()]).env("KUBECONFIG", cluster.admin_kubeconfig());
    let output = mcwan.stdin(Stdio::null()).kill_on_drop(true).output().await.context("cannot start mcwan")?;
    // 1: not all is well, or there is something to say.
    let has_answered = output.status.code().is_some_and(|code| code < 2);
    ensure!(has_answered, "mcwan {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
