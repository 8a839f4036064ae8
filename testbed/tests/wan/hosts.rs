//! Hosts that `Route`s of `OpenShift` choose: a Service of the cluster, one over a tier, one by TLS, one that two want.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use mcwan_testbed::client::Response;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::objects::{mk_echo, mk_file, mk_namespace, mk_service};
use crate::protocols::services::{NAMESPACE, ensure_spoken};
use crate::scene::{HIGH, Scene, mk_request};

/// What clients call.
const ROUTER: &str = "mcwan-router";
/// Of whom the certificate is, which nobody signed and no client need trust but ours. It ends in a hundred years.
const SAFE: &str = "safe.example.com";
const CERTIFICATE: &str = include_str!("hosts/certificate.pem");
const KEY: &str = include_str!("hosts/key.pem");
/// What Envoy answers for a host that nobody has, which the filter passes on.
const NOBODYS: u16 = 404;
/// Who wants a host, too.
const RIVAL: &str = "rival";

/// Services are those of the protocols; one of the cluster is beside them.
pub(crate) async fn hosts_that_users_choose(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    let named = |host: &str, service: &str, more: &Value| mk_route(NAMESPACE, host, service, more);
    let tls = json!({"tls": {"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect",
        "externalCertificate": {"name": "safe"}}});
    let files = [
        vec![mk_echo(NAMESPACE, "shop", 1), mk_service(NAMESPACE, "shop"), mk_secret()],
        named("shop.example.com", "shop", &json!({})),
        named("tier.example.com", &format!("desk-{NAMESPACE}-{}", HIGH.0), &json!({"port": {"targetPort": "http"}})),
        named(SAFE, "shop", &tls),
    ]
    .concat();
    cluster.apply(&mk_file(&files)).await?;
    until_answered(scene, NAMESPACE, "shop.example.com", "/").await?;

    let local = ask(scene, "shop.example.com", "/any").await?;
    let seen = local.seen().context("the Service of the cluster answers")?;
    let forwarded = seen.headers.iter().find(|(name, _)| name == "x-forwarded-host");
    ensure!(seen.authority == "shop.example.com", "the Service sees {}", seen.authority);
    ensure!(forwarded.is_some_and(|(_, host)| host == "shop.example.com"), "it is told {forwarded:?}");

    until_answered(scene, NAMESPACE, "tier.example.com", "/low").await?;
    let before = scene.wan.traffic();
    let far = ask(scene, "tier.example.com", "/low").await?;
    ensure!(far.status == 200, "over the tier comes {}", far.status);
    ensure_spoken(&scene.wan, &before, Some(HIGH.1), "a request of a Route")?;

    let redirected = ask(scene, SAFE, "/pay?a=b").await?;
    let to = redirected.values("location").next().map(|to| String::from_utf8_lossy(to).into_owned());
    let is_found = redirected.status == 302 && to.as_deref() == Some("https://safe.example.com/pay?a=b");
    ensure!(is_found, "without TLS comes {} {to:?}", redirected.status);
    scene.wan.until("TLS is spoken", async || Ok(safely(scene).await?.contains("200"))).await?;
    let nobody = ask(scene, "nobody.example.com", "/").await?;
    ensure!(nobody.status == NOBODYS, "an unknown host is answered {}", nobody.status);
    two_claim_a_host(scene).await
}

/// The older has it until it is gone.
async fn two_claim_a_host(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    let rival = mk_route(RIVAL, "shop.example.com", "shop", &json!({}));
    let files = [vec![mk_namespace(RIVAL), mk_echo(RIVAL, "shop", 1), mk_service(RIVAL, "shop")], rival].concat();
    cluster.apply(&mk_file(&files)).await?;
    let told = async |namespace: &str, reason: &str| {
        let path = format!(
            "jsonpath={{.status.ingress[?(@.routerName==\"mcwan\")].conditions[?(@.type==\"Admitted\")].{reason}}}"
        );
        cluster.kubectl(&["get", "route.route.openshift.io", "shop.example.com", "-n", namespace, "-o", &path]).await
    };
    let lost = async || Ok(told(RIVAL, "reason").await? == "HostAlreadyClaimed");
    scene.wan.until("the younger Route is refused", lost).await?;
    ensure!(told(NAMESPACE, "status").await? == "True", "the older one is told {}", told(NAMESPACE, "status").await?);
    cluster.kubectl(&["delete", "route.route.openshift.io", "shop.example.com", "-n", NAMESPACE]).await?;
    scene.wan.until("the younger Route has the host", async || Ok(told(RIVAL, "status").await? == "True")).await?;
    let left = async || Ok(ask(scene, "shop.example.com", "/").await?.status == NOBODYS);
    scene.wan.until("the namespace of the older one has it no more", left).await?;
    until_answered(scene, RIVAL, "shop.example.com", "/").await?;
    cluster.kubectl(&["delete", "routes.route.openshift.io", "--all", "-n", NAMESPACE]).await?;
    cluster.kubectl(&["delete", "namespace", RIVAL, "--timeout=2m"]).await?;
    Ok(())
}

async fn router(scene: &Scene, port: u16) -> Result<SocketAddr> {
    scene.wan.cluster(2).service_address(NAMESPACE, ROUTER, port).await
}

async fn ask(scene: &Scene, host: &str, path: &str) -> Result<Response> {
    scene.client.send(router(scene, 80).await?, &mk_request("GET", host, path)).await
}

async fn until_answered(scene: &Scene, namespace: &str, host: &str, path: &str) -> Result<()> {
    let answered = async || {
        let gateways = scene.wan.cluster(2).endpoints(namespace, ROUTER, 80).await.unwrap_or_default();
        for gateway in &gateways {
            if !scene.client.send(*gateway, &mk_request("GET", host, path)).await.is_ok_and(|is| is.status == 200) {
                return Ok(false);
            }
        }
        Ok(gateways.len() == 2)
    };
    scene.wan.until(&format!("{host} answers"), answered).await
}

/// What a real client of TLS has of the certificate and the answer.
async fn safely(scene: &Scene) -> Result<String> {
    let to = router(scene, 443).await?;
    let mut curl = Command::new("curl");
    let trusted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wan/hosts/certificate.pem");
    curl.args(["--silent", "--max-time", "5", "--output", "/dev/null", "--write-out", "%{http_code}"]);
    curl.args(["--resolve", &format!("{SAFE}:443:{}", to.ip()), "--cacert"]).arg(trusted);
    curl.arg(format!("https://{SAFE}/pay")).stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
    let child = scene.client.namespace().spawn(curl).await.context("`curl` is missing: install it")?;
    let output = spawn_blocking(move || child.wait_with_output()).await??;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A Route of ours by its host.
fn mk_route(namespace: &str, host: &str, service: &str, more: &Value) -> Vec<Value> {
    let mut spec = json!({"host": host, "to": {"kind": "Service", "name": service}});
    spec.as_object_mut().into_iter().for_each(|spec| spec.extend(more.as_object().cloned().unwrap_or_default()));
    vec![json!({"apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"namespace": namespace, "name": host, "labels": {"mc-wan.l7mp.io/router": "mcwan"}},
        "spec": spec})]
}

fn mk_secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"namespace": NAMESPACE, "name": "safe"},
        "stringData": {"tls.crt": CERTIFICATE, "tls.key": KEY}})
}
