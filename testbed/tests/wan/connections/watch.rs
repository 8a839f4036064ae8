//! A load while policies change, all answers of which are looked at.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mcwan_testbed::load::{Load, LoadAnswer, Plan};
use mcwan_testbed::wan::{TestWan, WanClient};

use super::permitted::{CONSUMER, EXPORTERS, Permitted, REQUESTS, Steered, SteeredOutcome, TIERS};
use crate::tiers::ports_are_due;

/// So many answers in a row tell by which policies they come: a share of a half is in those to each path.
const ROW: usize = 100;

/// So many requests are sent while nothing may go over a tier that is not permitted.
const SOME: usize = 50;

/// Requests of cluster 2, each for another rule in turn, and the policies by which they may be answered.
pub(crate) struct Watch {
    load: Load,
    versions: Vec<Version>,
}

/// What may be used from a time on.
struct Version {
    step: &'static str,
    /// Where requests are steered, by the cluster that they start in.
    steered: Permitted,
    /// What the clusters that they go to admit.
    admitted: Permitted,
    told: Instant,
    /// When it was seen to hold.
    held: Option<Instant>,
}

impl Version {
    /// What comes of a request.
    fn outcomes(&self, request: &Steered) -> BTreeSet<SteeredOutcome> {
        let sources = self.steered.sources(request);
        if sources.is_empty() {
            return [SteeredOutcome::NotPermitted].into();
        }
        let admits = |cluster| self.admitted.has(cluster, request.tier);
        sources
            .into_iter()
            .map(|it| if admits(it) { SteeredOutcome::Answered(it) } else { SteeredOutcome::Denied })
            .collect()
    }
}

impl Watch {
    /// Starts it, where all requests are answered already, by the name that clients know. It needs the WAN's recording for
    /// itself.
    pub(crate) async fn start(wan: &TestWan, client: &WanClient, rate: u32) -> Result<Self> {
        let to = vec![named(wan, client).await?];
        let requests = REQUESTS.iter().map(Steered::request).collect();
        wan.record();
        let (step, everything, told) = ("without policies", Permitted::EVERYTHING, Instant::now());
        let first = Version { step, steered: everything, admitted: everything, told, held: None };
        let load = Load::start(client.namespace(), Plan { requests, to, rate }).await?;
        let mut watch = Self { load, versions: vec![first] };
        watch.until_held(wan).await?;
        Ok(watch)
    }

    /// From now on something else is to hold.
    pub(crate) fn tell(&mut self, step: &'static str, permitted: Permitted) {
        self.tell_apart(step, permitted, permitted);
    }

    /// The same, where requests are steered otherwise than they are admitted.
    pub(crate) fn tell_apart(&mut self, step: &'static str, steered: Permitted, admitted: Permitted) {
        self.versions.push(Version { step, steered, admitted, told: Instant::now(), held: None });
    }

    /// Waits until all answers are those of the newest version, every cluster that may answers, and then nothing more is
    /// said over another tier.
    pub(crate) async fn until_held(&mut self, wan: &TestWan) -> Result<()> {
        let newest = self.versions.last_mut().context("nothing was told")?;
        let (first, load) = (self.load.count(), &self.load);
        let mut last = Vec::new();
        let wait = wan.until(newest.step, async || {
            let answers = load.answers_after(first);
            let answers: Vec<_> = answers.iter().filter(|answer| answer.sent > newest.told).collect();
            let row = answers.len().checked_sub(ROW).and_then(|start| answers.get(start..));
            let Some(row) = row else { return Ok(false) };
            last = outcomes(row);
            let due = REQUESTS.iter().map(|request| newest.outcomes(request));
            Ok(last.iter().cloned().eq(due))
        });
        wait.await.with_context(|| format!("{:?} is answered by {last:?}", REQUESTS.map(|request| request.path)))?;
        newest.held = Some(Instant::now());
        eprintln!("measured: {}: held after {:?}", newest.step, newest.told.elapsed());
        self.nothing_is_said_elsewhere(wan).await
    }

    /// Waits until so many more requests were sent and are over.
    async fn pass(&self, wan: &TestWan, count: usize) -> Result<()> {
        let (since, first) = (Instant::now(), self.load.count());
        wan.until("more requests are over", async || {
            Ok(self.load.answers_after(first).iter().filter(|answer| answer.sent > since).count() >= count)
        })
        .await
    }

    async fn nothing_is_said_elsewhere(&self, wan: &TestWan) -> Result<()> {
        let newest = self.versions.last().context("nothing was told")?;
        let before = wan.traffic();
        self.pass(wan, SOME).await?;
        let traffic = wan.traffic().since(&before);
        let mut said = 0;
        for (cluster, tier) in EXPORTERS.into_iter().flat_map(|cluster| TIERS.map(|tier| (cluster, tier))) {
            let count = traffic.requests(CONSUMER, cluster, tier.port);
            // Connections of before may end, or be acknowledged to have ended.
            let is_silent = count.connections == 0 && count.payload == 0;
            let is_permitted = newest.steered.has(cluster, tier);
            ensure!(is_permitted || is_silent, "{}: {} to cluster {cluster}: {count:?}", newest.step, tier.name);
            said += count.payload;
        }
        ensure!(said > 0, "{}: nothing crosses", newest.step);
        Ok(())
    }

    /// Ends it, and looks at all answers, and at what crossed the WAN.
    pub(crate) async fn finish(self, wan: &TestWan) -> Result<()> {
        let Self { load, versions } = self;
        let answers = load.stop().await?;
        let recording = wan.recorded();
        for cluster in EXPORTERS {
            let crossed = ports_are_due(&recording, cluster, |request| {
                let steered = REQUESTS.iter().find(|steered| steered.path == request.path);
                steered.map(|steered| steered.tier.port)
            })?;
            eprintln!("measured: {crossed} requests crossed to cluster {cluster}, each over the tier of its rule");
        }
        let wrong: Vec<_> = answers.iter().filter_map(|answer| complaint(answer, &versions)).collect();
        report(&answers, &versions);
        ensure!(wrong.is_empty(), "{} of {} answers are wrong, such as {}", wrong.len(), answers.len(), wrong[0]);
        Ok(())
    }
}

/// Where connections to the service's name go, once requests are answered there.
async fn named(wan: &TestWan, client: &WanClient) -> Result<SocketAddr> {
    let name = "payment.secure.svc.clusterset.local";
    let mut found = None;
    wan.until(&format!("{name} answers"), async || {
        let address = client.resolve(name, "A").await?.first().map(|address| address.parse()).transpose()?;
        let Some(address) = address.map(|address| SocketAddr::new(address, 8080)) else { return Ok(false) };
        found = Some(address);
        let answer = client.send(address, &REQUESTS[0].request()).await;
        Ok(answer.is_ok_and(|answer| answer.status == 200))
    })
    .await?;
    found.context("there is no address")
}

/// What came of each of the requests.
fn outcomes(answers: &[&LoadAnswer]) -> Vec<BTreeSet<SteeredOutcome>> {
    let of =
        |index| answers.iter().filter(move |answer| answer.request == index).map(|answer| SteeredOutcome::of(answer));
    (0..REQUESTS.len()).map(|index| of(index).collect()).collect()
}

/// Whether a request may end so while these versions follow each other.
fn is_due(request: &Steered, outcome: SteeredOutcome, versions: &[Version]) -> bool {
    let steers = |version: &Version, cluster| version.steered.sources(request).contains(&cluster);
    let admits = |version: &Version, cluster| version.admitted.has(cluster, request.tier);
    match outcome {
        SteeredOutcome::Answered(cluster) => {
            versions.iter().any(|version| steers(version, cluster))
                && versions.iter().any(|version| admits(version, cluster))
        }
        SteeredOutcome::NotPermitted => versions.iter().any(|version| version.steered.sources(request).is_empty()),
        // What is taken away may be refused before it is steered no more. What is given is steered when it is admitted.
        SteeredOutcome::Denied => versions.iter().enumerate().any(|(place, version)| {
            let later = versions.get(place..).unwrap_or_default();
            EXPORTERS.into_iter().any(|it| steers(version, it) && later.iter().any(|later| !admits(later, it)))
        }),
        SteeredOutcome::Lost => false,
    }
}

/// What is wrong with an answer, if anything is.
fn complaint(answer: &LoadAnswer, versions: &[Version]) -> Option<String> {
    let request = &REQUESTS[answer.request];
    // Those that held before it was sent, or newer ones, but none that was not told yet.
    let oldest = versions.iter().rposition(|version| version.held.is_some_and(|held| held < answer.sent)).unwrap_or(0);
    let known = versions.iter().take_while(|version| version.told < answer.done).count();
    let outcome = SteeredOutcome::of(answer);
    let between = versions.get(oldest..known)?;
    if is_due(request, outcome, between) {
        return None;
    }
    let newest = between.last()?;
    let said = answer.outcome.as_ref().map(|response| {
        let body: String = String::from_utf8_lossy(&response.body).chars().take(200).collect();
        format!("{} {body}", response.status)
    });
    Some(format!(
        "{} {:?} after {:?} was told (for {:?}): {outcome:?}, {said:?}",
        request.path,
        answer.sent.saturating_duration_since(newest.told),
        newest.step,
        answer.done.duration_since(answer.sent),
    ))
}

/// Says of each step how many requests were lost, or refused by the far gateway, and when the last came that would not
/// any more.
fn report(answers: &[LoadAnswer], versions: &[Version]) {
    for (place, version) in versions.iter().enumerate() {
        let next = versions.get(place + 1).map(|next| next.told);
        let is_within =
            |answer: &&LoadAnswer| answer.sent >= version.told && next.is_none_or(|next| answer.sent < next);
        let within: Vec<_> = answers.iter().filter(is_within).collect();
        let lost = within.iter().filter(|answer| complaint(answer, versions).is_some()).count();
        let denied = within.iter().filter(|answer| SteeredOutcome::of(answer) == SteeredOutcome::Denied).count();
        let is_late =
            |answer: &&&LoadAnswer| !version.outcomes(&REQUESTS[answer.request]).contains(&SteeredOutcome::of(answer));
        let late = within.iter().filter(is_late).map(|answer| answer.done.duration_since(version.told)).max();
        eprintln!(
            "measured: {}: {lost} of {} requests lost, {denied} refused by a far gateway, the last as before after {:?}",
            version.step,
            within.len(),
            late.unwrap_or(Duration::ZERO)
        );
    }
}
