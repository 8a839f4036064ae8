//! Hosts that `Route`s of `OpenShift` choose: a Service of the cluster, one over a tier, one by TLS, one that two want.

mod changes;

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
/// Whose Routes stay as they are while others change: one of a Service of the cluster, one over a tier.
const LOCAL: &str = "shop.example.com";
const TIER: &str = "tier.example.com";
/// Of whom the certificate is, which nobody signed and no client need trust but ours. It ends in a hundred years.
const SAFE: &str = "safe.example.com";
const CERTIFICATE: &str = include_str!("hosts/certificate.pem");
const KEY: &str = include_str!("hosts/key.pem");
/// What lets the controller show it.
const GRANT: &str = "mcwan-safe";
/// What Envoy answers for a host that nobody has, which the filter passes on.
const NOBODYS: u16 = 404;
/// Who wants a host, too.
const RIVAL: &str = "rival";

/// Services are those of the protocols; one of the cluster is beside them.
pub(crate) async fn hosts_that_users_choose(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    let tier = mk_route(NAMESPACE, TIER, &mk_tier_service(HIGH.0), &json!({"port": {"targetPort": "http"}}));
    let files = [
        vec![mk_echo(NAMESPACE, "shop", 1), mk_service(NAMESPACE, "shop"), mk_secret()],
        mk_grant(),
        mk_route(NAMESPACE, LOCAL, "shop", &json!({})),
        tier,
    ]
    .concat();
    cluster.apply(&mk_file(&files)).await?;
    until_answered(scene, NAMESPACE, LOCAL, "/").await?;

    let local = ask(scene, LOCAL, "/any").await?;
    let seen = local.seen().context("the Service of the cluster answers")?;
    let forwarded = seen.headers.iter().find(|(name, _)| name == "x-forwarded-host");
    ensure!(seen.authority == LOCAL, "the Service sees {}", seen.authority);
    ensure!(forwarded.is_some_and(|(_, host)| host == LOCAL), "it is told {forwarded:?}");

    until_answered(scene, NAMESPACE, TIER, "/low").await?;
    let before = scene.wan.traffic();
    let far = ask(scene, TIER, "/low").await?;
    ensure!(far.status == 200, "over the tier comes {}", far.status);
    ensure_spoken(&scene.wan, &before, Some(HIGH.1), "a request of a Route")?;

    changes::the_others_lose_nothing(scene).await?;
    let redirected = ask(scene, SAFE, "/pay?a=b").await?;
    let to = redirected.values("location").next().map(|to| String::from_utf8_lossy(to).into_owned());
    let is_found = redirected.status == 302 && to.as_deref() == Some("https://safe.example.com/pay?a=b");
    ensure!(is_found, "without TLS comes {} {to:?}", redirected.status);
    scene.wan.until("TLS is spoken", async || Ok(safely(scene).await?.contains("200"))).await?;
    let nobody = ask(scene, "nobody.example.com", "/").await?;
    ensure!(nobody.status == NOBODYS, "an unknown host is answered {}", nobody.status);
    a_grant_is_taken_back(scene).await?;
    two_claim_a_host(scene).await
}

/// Without it, clients are shown no certificate.
async fn a_grant_is_taken_back(scene: &Scene) -> Result<()> {
    scene.wan.cluster(2).kubectl(&["delete", "rolebinding", GRANT, "-n", NAMESPACE]).await?;
    let refused = async || Ok(told(scene, NAMESPACE, SAFE, "reason").await? == "ExtendedValidationFailed");
    scene.wan.until("the Route is refused", refused).await?;
    until_each(scene, NAMESPACE, SAFE, "/pay", |answer| answer.status == 503).await
}

/// The older has it until it is gone.
async fn two_claim_a_host(scene: &Scene) -> Result<()> {
    let cluster = scene.wan.cluster(2);
    let rival = mk_route(RIVAL, LOCAL, "shop", &json!({}));
    let files = [vec![mk_namespace(RIVAL), mk_echo(RIVAL, "shop", 1), mk_service(RIVAL, "shop")], rival].concat();
    cluster.apply(&mk_file(&files)).await?;
    let lost = async || Ok(told(scene, RIVAL, LOCAL, "reason").await? == "HostAlreadyClaimed");
    scene.wan.until("the younger Route is refused", lost).await?;
    let older = told(scene, NAMESPACE, LOCAL, "status").await?;
    ensure!(older == "True", "the older one is told {older}");
    cluster.kubectl(&["delete", "route.route.openshift.io", LOCAL, "-n", NAMESPACE]).await?;
    let has_it = async || Ok(told(scene, RIVAL, LOCAL, "status").await? == "True");
    scene.wan.until("the younger Route has the host", has_it).await?;
    let left = async || Ok(ask(scene, LOCAL, "/").await?.status == NOBODYS);
    scene.wan.until("the namespace of the older one has it no more", left).await?;
    until_answered(scene, RIVAL, LOCAL, "/").await?;
    cluster.kubectl(&["delete", "routes.route.openshift.io", "--all", "-n", NAMESPACE]).await?;
    cluster.kubectl(&["delete", "namespace", RIVAL, "--timeout=2m"]).await?;
    Ok(())
}

/// What a Route is told of whether it is admitted: a field of the condition.
async fn told(scene: &Scene, namespace: &str, route: &str, field: &str) -> Result<String> {
    let path =
        format!("jsonpath={{.status.ingress[?(@.routerName==\"mcwan\")].conditions[?(@.type==\"Admitted\")].{field}}}");
    let told = ["get", "route.route.openshift.io", route, "-n", namespace, "-o", &path];
    scene.wan.cluster(2).kubectl(&told).await
}

async fn router(scene: &Scene, port: u16) -> Result<SocketAddr> {
    scene.wan.cluster(2).service_address(NAMESPACE, ROUTER, port).await
}

async fn ask(scene: &Scene, host: &str, path: &str) -> Result<Response> {
    scene.client.send(router(scene, 80).await?, &mk_request("GET", host, path)).await
}

async fn until_answered(scene: &Scene, namespace: &str, host: &str, path: &str) -> Result<()> {
    until_each(scene, namespace, host, path, |answer| answer.status == 200).await
}

/// Waits until each gateway of a namespace answers as is meant.
async fn until_each(
    scene: &Scene,
    namespace: &str,
    host: &str,
    path: &str,
    is_meant: impl Fn(&Response) -> bool,
) -> Result<()> {
    let answered = async || {
        let gateways = scene.wan.cluster(2).endpoints(namespace, ROUTER, 80).await.unwrap_or_default();
        for gateway in &gateways {
            if !scene.client.send(*gateway, &mk_request("GET", host, path)).await.is_ok_and(|is| is_meant(&is)) {
                return Ok(false);
            }
        }
        Ok(gateways.len() == 2)
    };
    scene.wan.until(&format!("{host}{path} answers as is meant"), answered).await
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

/// The one by TLS.
fn mk_safe() -> Vec<Value> {
    let tls = json!({"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect",
        "externalCertificate": {"name": "safe"}});
    mk_route(NAMESPACE, SAFE, "shop", &json!({"tls": tls}))
}

/// The service of the protocols over a tier, as a backend.
fn mk_tier_service(tier: &str) -> String {
    format!("desk-{NAMESPACE}-{tier}")
}

/// Lets the controller's account read the Secret, which is why a Route may name it.
fn mk_grant() -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    let mk = |kind: &str| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"namespace": NAMESPACE, "name": GRANT}});
    let (mut role, mut binding) = (mk("Role"), mk("RoleBinding"));
    role["rules"] = json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["safe"], "verbs": ["get"]}]);
    binding["roleRef"] = json!({"apiGroup": group, "kind": "Role", "name": GRANT});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "mcwan", "namespace": "mc-wan-system"}]);
    vec![role, binding]
}

fn mk_secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"namespace": NAMESPACE, "name": "safe"},
        "stringData": {"tls.crt": CERTIFICATE, "tls.key": KEY}})
}
