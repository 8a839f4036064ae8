//! A load while rules change, all answers of which are looked at.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use mcwan_testbed::load::{Load, LoadAnswer, Plan, statuses};
use mcwan_testbed::wan::{TestWan, WanClient};
use serde_json::{Value, json};

use crate::objects::{mk_echo, mk_file, mk_import, mk_service};
use crate::rules::{Rules, TARGET, is_marked_throughout, mark, paths, port};
use crate::scene::mk_request;
use crate::tiers::ports_are_due;

/// How much is sent, and what of it must not be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strain {
    /// Requests a second.
    pub(crate) rate: u32,
    faults: &'static [Fault],
}

/// For a machine that does much else: there something may be late.
pub(crate) const MODERATE: Strain = Strain { rate: 50, faults: &[Fault::Lost, Fault::Mistaken] };

/// For a machine that does nothing else.
pub(crate) const FULL: Strain = Strain { rate: 200, faults: &[Fault::Lost, Fault::Late, Fault::Mistaken] };

/// What clients in all clusters call the service.
const NAME: &str = "payment.secure.svc.clusterset.local";

/// What may be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is none, or not by any rules, but an error.
    Lost,
    /// It is by rules that are not to hold any more.
    Late,
    /// It came where rules refuse, or by what was never a target of them.
    Mistaken,
}

/// Requests from cluster 2 for `payment.secure`, and the rules by which they may be answered.
pub(crate) struct Audit {
    load: Load,
    imports: Api<DynamicObject>,
    routes: Api<DynamicObject>,
    paths: Vec<String>,
    versions: Vec<Version>,
    /// At how many addresses: those of the gateways, and the one that the service's name has.
    places: usize,
    strain: Strain,
}

/// Everything that was answered.
pub(crate) struct Verdict {
    pub(crate) answers: Vec<LoadAnswer>,
    /// What must not be, and when it was sent.
    pub(crate) wrong: Vec<(Instant, String)>,
    paths: Vec<String>,
    versions: Vec<Version>,
}

/// Rules, and since when.
struct Version {
    rules: Rules,
    /// When the API server was told, and when it had answered.
    told: Instant,
    answered: Instant,
    /// When they were seen to hold everywhere, if anybody has looked.
    held: Option<Instant>,
}

impl Audit {
    /// Starts it, where requests for the payment example are answered already. It needs the WAN's recording for itself.
    pub(crate) async fn start(wan: &TestWan, client: &WanClient, strain: Strain) -> Result<Self> {
        let canary = [mk_echo("secure", "canary", 1), mk_service("secure", "canary")];
        wan.cluster(2).apply(&mk_file(&canary)).await?;
        wan.cluster(2).service_address("secure", "canary", 8080).await?;
        let api = |group: &str, version: &str, kind: &str| {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            Api::namespaced_with(wan.cluster(2).client(), "secure", &resource)
        };
        let imports = api("mc-wan.l7mp.io", "v1alpha1", "ServiceImport");
        let routes = api("gateway.networking.k8s.io", "v1", "HTTPRoute");
        let first = tell(&imports, Rules::nth(0, None)).await?;
        let paths = paths();
        let requests = paths.iter().map(|path| mk_request("GET", &format!("{NAME}:8080"), path)).collect();
        let mut to = wan.cluster(2).endpoints("secure", "payment-clusterset", 8080).await?;
        to.push(named(wan, client).await?);
        let places = to.len();
        let plan = Plan { requests, to, rate: strain.rate };
        until_first_rules_hold(wan, client, &plan, &first.rules).await?;
        wan.record();
        let load = Load::start(client.namespace(), plan).await?;
        let mut audit = Self { load, imports, routes, paths, versions: vec![first], places, strain };
        audit.until_newest_rules_hold(wan).await?;
        Ok(audit)
    }

    /// Changes the rules.
    pub(crate) async fn change(&mut self) -> Result<()> {
        let rules = Rules::nth(self.versions.len(), self.versions.last().map(|version| &version.rules));
        self.versions.push(tell(&self.imports, rules).await?);
        Ok(())
    }

    /// Changes the rules, which from now on an `HTTPRoute` gives.
    pub(crate) async fn change_by_route(&mut self) -> Result<()> {
        let rules = Rules::nth(self.versions.len(), self.versions.last().map(|version| &version.rules));
        let told = Instant::now();
        apply(&self.routes, &mk_route(&rules.spec())).await?;
        // Where a ServiceImport has rules, a route's do not hold.
        let without = json!({"noMatch": {"status": 403}});
        let mut import = mk_import("secure", "payment", &Value::Null);
        import["spec"]["http"] = without;
        apply(&self.imports, &import).await?;
        self.versions.push(Version { rules, told, answered: Instant::now(), held: None });
        Ok(())
    }

    /// The route, as it is now.
    pub(crate) async fn route(&self) -> Result<DynamicObject> {
        self.routes.get("payment-rules").await.context("there is no route")
    }

    /// Waits until every gateway answers by the newest rules.
    pub(crate) async fn until_newest_rules_hold(&mut self, wan: &TestWan) -> Result<()> {
        let Some((newest, before)) = self.versions.split_last_mut() else { return Ok(()) };
        let older = before.iter().rposition(|version| version.held.is_some()).unwrap_or(0);
        let older = before.get(older..).unwrap_or_default();
        let mut seen = self.load.count();
        let mut latest = BTreeMap::new();
        wan.until("the newest rules hold", async || {
            let answers = self.load.answers_after(seen);
            seen += answers.len();
            for answer in answers.iter().filter(|answer| answer.sent > newest.told) {
                let path = &self.paths[answer.request];
                if !newest.rules.gives(path, answer) {
                    latest.insert(answer.to, false);
                } else if !older.iter().any(|version| version.rules.gives(path, answer)) {
                    latest.insert(answer.to, true);
                }
            }
            Ok(latest.len() == self.places && latest.values().all(|holds| *holds))
        })
        .await?;
        newest.held = Some(Instant::now());
        Ok(())
    }

    /// Changes rules again and again until some hold. Gives how often.
    pub(crate) async fn change_until_some_hold(&mut self, wan: &TestWan) -> Result<usize> {
        let (first, seen) = (self.versions.len(), self.load.count());
        wan.until("rules hold that others follow at once", async || {
            // All of one kind: each has targets of its own.
            self.versions.push(tell(&self.imports, Rules::nth(self.versions.len() * 5, None)).await?);
            let newer = self.versions.get(first..).unwrap_or_default();
            let is_by_newer = |answer: &LoadAnswer| {
                let path = &self.paths[answer.request];
                newer.iter().any(|version| version.rules.changes(path) && version.rules.gives(path, answer))
            };
            Ok(self.load.answers_after(seen).iter().any(is_by_newer))
        })
        .await?;
        Ok(self.versions.len() - first)
    }

    /// Waits until as many more are answered as are sent in so many seconds.
    pub(crate) async fn pass(&self, wan: &TestWan, seconds: u32) -> Result<()> {
        let most = self.load.count() + usize::try_from(seconds * self.strain.rate)?;
        wan.until("more requests are over", async || Ok(self.load.count() >= most)).await
    }

    /// Ends it, and looks at all answers, and at what crossed the WAN: no tier is another than the rules'.
    pub(crate) async fn finish(self, wan: &TestWan) -> Result<Verdict> {
        let Self { load, paths, versions, strain, .. } = self;
        let answers = load.stop().await?;
        let crossed = ports_are_due(&wan.recorded(), 1, port)?;
        ensure!(crossed > 0, "nothing crossed");
        let mut wrong = Vec::new();
        for answer in &answers {
            let Some((fault, line)) = complaint(answer, &paths, &versions) else { continue };
            if wrong.len() < 20 {
                eprintln!("{fault:?}: {line}; {}", neighbours(answer.sent, &answers, &paths, &versions));
            }
            wrong.extend(strain.faults.contains(&fault).then_some((answer.sent, line)));
        }
        Ok(Verdict { answers, wrong, paths, versions })
    }
}

impl Verdict {
    /// Every answer was the old rules' or the new rules'.
    pub(crate) fn ensure_nothing_is_wrong(&self) -> Result<()> {
        let (wrong, all) = (self.wrong.len(), self.answers.len());
        ensure!(wrong == 0, "{wrong} of {all} answers are not as the old rules or the new ones say");
        Ok(())
    }

    /// Says how much was answered, and how long it takes from the API call to the first answer by new rules, and to
    /// the last by old ones.
    pub(crate) fn report(&self) {
        let changes = self.versions.len() - 1;
        eprintln!("measured: {} requests, {changes} changes: {:?}", self.answers.len(), statuses(&self.answers));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for pair in self.versions.windows(2) {
            let [before, version] = pair else { continue };
            let (Some(_), Some(held)) = (before.held, version.held) else { continue };
            let (mut new, mut old) = (None, version.answered);
            let between = |answer: &&LoadAnswer| answer.sent > version.told && answer.done < held;
            for answer in self.answers.iter().filter(between) {
                let path = &self.paths[answer.request];
                match (before.rules.gives(path, answer), version.rules.gives(path, answer)) {
                    (false, true) if new.is_none_or(|new| answer.done < new) => new = Some(answer.done),
                    (true, false) => old = old.max(answer.done),
                    _ => {}
                }
            }
            first.extend(new.map(|new| new.duration_since(version.told)));
            last.push(old.duration_since(version.told));
        }
        for (what, mut times) in [("first answer by the new rules", first), ("last answer by the old rules", last)] {
            times.sort_unstable();
            let [p50, p99] = [50, 99].map(|percent| percentile(&times, percent));
            eprintln!("measured: from API call to {what}: p50 {p50:?}, p99 {p99:?} ({} changes)", times.len());
        }
    }
}

/// Tells the API server of new rules.
async fn tell(imports: &Api<DynamicObject>, rules: Rules) -> Result<Version> {
    let import = mk_import("secure", "payment", &rules.spec());
    let told = Instant::now();
    apply(imports, &import).await?;
    Ok(Version { rules, told, answered: Instant::now(), held: None })
}

async fn apply(api: &Api<DynamicObject>, object: &Value) -> Result<()> {
    let name = object["metadata"]["name"].as_str().context("it has no name")?;
    let applied = api.patch(name, &PatchParams::apply("kubectl").force(), &Patch::Apply(object)).await;
    applied.map(drop).context("the rules cannot be changed")
}

/// The rules as those of a route below the import. Istiod takes it for one of a Service, too.
fn mk_route(rules: &Value) -> Value {
    let parents = json!([
        {"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"},
        {"group": "", "kind": "Service", "name": "canary"},
    ]);
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"namespace": "secure", "name": "payment-rules"}, "spec": {"parentRefs": parents, "rules": rules}})
}

/// Where connections to the service's name go.
async fn named(wan: &TestWan, client: &WanClient) -> Result<SocketAddr> {
    let mut address = None;
    wan.until(&format!("{NAME} has an address"), async || {
        address = client.resolve(NAME, "A").await?.first().map(|address| address.parse()).transpose()?;
        Ok(address.is_some())
    })
    .await?;
    Ok(SocketAddr::new(address.context("there is no address")?, 8080))
}

/// Waits until the first rules hold: those of before lack most of them.
async fn until_first_rules_hold(wan: &TestWan, client: &WanClient, plan: &Plan, rules: &Rules) -> Result<()> {
    wan.until("the first rules hold", async || {
        for gateway in &plan.to {
            for request in &plan.requests {
                let Ok(answer) = client.send(*gateway, request).await else { return Ok(false) };
                let mark = answer.values(TARGET).next().map(|mark| String::from_utf8_lossy(mark).into_owned());
                if !rules.allow(&request.path, answer.status, mark.as_deref()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    })
    .await
}

/// Steps of a story, to tell when something was lost.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<(&'static str, Instant)>);

impl Steps {
    /// A step begins, and the one before ends.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.0.push((name, Instant::now()));
    }

    /// Says how many of the requests that were sent in each step are lost; gives how many are by step.
    pub(crate) fn report(&self, sent: &[Instant], lost: &[Instant]) -> Vec<(&'static str, usize)> {
        let mut report = Vec::new();
        for (index, (name, since)) in self.0.iter().enumerate() {
            let until = self.0.get(index + 1).map(|(_, next)| *next);
            let is_within = |sent: &&Instant| *sent >= since && until.is_none_or(|until| **sent < until);
            let [sent, lost] = [sent, lost].map(|all| all.iter().filter(is_within).count());
            eprintln!("measured: {name}: {lost} of {sent} requests lost");
            report.push((*name, lost));
        }
        report
    }
}

/// What is wrong with an answer, if anything is.
fn complaint(answer: &LoadAnswer, paths: &[String], versions: &[Version]) -> Option<(Fault, String)> {
    let path = &paths[answer.request];
    // Those that held everywhere before it was sent, or newer ones, but none that the API server did not know yet.
    let oldest = versions.iter().rposition(|version| version.held.is_some_and(|held| held < answer.sent)).unwrap_or(0);
    let known = versions.iter().take_while(|version| version.told < answer.done).count();
    let is_by = |versions: &[Version]| versions.iter().any(|version| version.rules.gives(path, answer));
    let is_of_one_target = answer.status() != 200 || is_marked_throughout(answer);
    let fault = match is_of_one_target {
        true if is_by(&versions[oldest..known]) => return None,
        true if is_by(&versions[..oldest]) => Fault::Late,
        _ if answer.status() != 200 => Fault::Lost,
        _ => Fault::Mistaken,
    };
    let said = answer.outcome.as_ref().map(|response| String::from_utf8_lossy(&response.body).into_owned());
    let line = format!(
        "{path} by {} after {:?} (for {:?}), between changes {oldest} and {}: {} {:?}, {said:?}",
        answer.to,
        answer.sent.duration_since(versions.first()?.told),
        answer.done.duration_since(answer.sent),
        known.saturating_sub(1),
        answer.status(),
        mark(answer),
    );
    Some((fault, line))
}

/// What was answered last before a time, and first after it, of that which changes.
fn neighbours(time: Instant, answers: &[LoadAnswer], paths: &[String], versions: &[Version]) -> String {
    let changes = |answer: &&LoadAnswer| {
        let path = &paths[answer.request];
        mark(answer).is_some() && versions.iter().any(|version| version.rules.changes(path))
    };
    let before = answers.iter().filter(changes).filter(|answer| answer.sent < time).max_by_key(|answer| answer.sent);
    let after = answers.iter().filter(changes).filter(|answer| answer.sent > time).min_by_key(|answer| answer.sent);
    format!("before: {:?}, after: {:?}", before.and_then(mark), after.and_then(mark))
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
}
