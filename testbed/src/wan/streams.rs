//! Steady streams of requests, of each of which is known which tier it took.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::Result;

use super::{TestWan, WanClient};
use crate::client::Request;
use crate::load::{Load, LoadAnswer, Plan};

/// A stream: requests for `PREFIX/0`, `PREFIX/1` and so on.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    /// The `Host` header.
    pub host: String,
    /// What paths begin with. No other stream has the same.
    pub prefix: String,
    /// More header lines.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Where to.
    pub to: Vec<SocketAddr>,
    /// Requests a second.
    pub rate: u32,
    /// How many requests have paths of their own; no more may be sent.
    pub most: usize,
}

/// Streams that go on until they are stopped or dropped. They need the WAN's recording for themselves.
#[derive(Debug)]
pub struct Streams {
    all: Vec<Stream>,
    loads: Vec<Load>,
    /// The number of the cluster that they start in.
    from: u8,
}

/// One of them, as far as it was looked at.
#[derive(Clone, Debug)]
pub struct Stream {
    prefix: String,
    /// How many answers were looked at.
    seen: usize,
    ports: BTreeMap<usize, u16>,
    over: BTreeMap<usize, Over>,
}

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Over {
    /// When it was sent.
    pub sent: Instant,
    /// When it was over.
    pub done: Instant,
    /// The status, or 0 where there was no answer.
    pub status: u16,
    /// The port that it took on the WAN; none: it did not cross.
    pub port: Option<u16>,
    /// The echo that answered.
    pub by: Option<String>,
    /// What happened in place of an answer, or the body of one that is not 200.
    pub fault: Option<String>,
}

impl Streams {
    /// Starts them, from where a client is.
    ///
    /// # Errors
    /// Nothing is planned.
    pub async fn start(wan: &TestWan, client: &WanClient, plans: Vec<StreamPlan>) -> Result<Self> {
        wan.record();
        let (mut streams, mut loads) = (Vec::new(), Vec::new());
        for StreamPlan { host, prefix, headers, to, rate, most } in plans {
            let request = |number| Request {
                method: "GET".to_owned(),
                host: Some(host.as_bytes().to_vec()),
                path: format!("{prefix}/{number}"),
                headers: headers.clone(),
            };
            let plan = Plan { requests: (0..most).map(request).collect(), to, rate };
            loads.push(Load::start(client.namespace(), plan).await?);
            streams.push(Stream { prefix, seen: 0, ports: BTreeMap::new(), over: BTreeMap::new() });
        }
        Ok(Self { all: streams, loads, from: client.cluster() })
    }

    /// Looks at what has become of requests since.
    pub fn look(&mut self, wan: &TestWan) {
        let streams = self.all.iter().zip(&self.loads);
        let answers: Vec<_> = streams.map(|(stream, load)| load.answers_after(stream.seen)).collect();
        self.record_ports(wan, answers);
    }

    /// They, in the order of their plans.
    pub fn streams(&self) -> &[Stream] {
        &self.all
    }

    /// Sends no more, waits for what is under way, and gives what has become of all.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn stop(mut self, wan: &TestWan) -> Result<Vec<Stream>> {
        let mut answers = Vec::new();
        for (load, stream) in std::mem::take(&mut self.loads).into_iter().zip(&self.all) {
            answers.push(load.stop().await?.split_off(stream.seen));
        }
        self.record_ports(wan, answers);
        Ok(self.all)
    }

    /// Whoever has an answer has crossed before.
    fn record_ports(&mut self, wan: &TestWan, answers: Vec<Vec<LoadAnswer>>) {
        let recording = wan.record();
        for cluster in wan.clusters() {
            let speeches = recording.speeches(self.from, cluster.number());
            for (speech, request) in
                speeches.iter().flat_map(|it| it.requests().into_iter().flatten().map(move |request| (it, request)))
            {
                let Some((prefix, number)) = request.path.rsplit_once('/') else { continue };
                let stream = self.all.iter_mut().find(|stream| stream.prefix == prefix);
                if let (Some(stream), Ok(number)) = (stream, number.parse()) {
                    stream.ports.entry(number).or_insert(speech.port);
                }
            }
        }
        for (stream, answers) in self.all.iter_mut().zip(answers) {
            stream.seen += answers.len();
            stream.over.extend(answers.into_iter().map(|answer| {
                let fault = match &answer.outcome {
                    Ok(response) if response.status == 200 => None,
                    Ok(response) => Some(String::from_utf8_lossy(&response.body).into_owned()),
                    Err(error) => Some(error.clone()),
                };
                let over = Over {
                    sent: answer.sent,
                    done: answer.done,
                    status: answer.status(),
                    port: stream.ports.get(&answer.request).copied(),
                    by: answer.outcome.ok().and_then(|response| response.echo_name()),
                    fault,
                };
                (answer.request, over)
            }));
        }
    }
}

impl Stream {
    /// What is over and was sent since, in the order in which it was sent.
    pub fn since(&self, since: Instant) -> impl Iterator<Item = &Over> {
        self.over.values().filter(move |over| over.sent >= since)
    }

    /// Those that were sent since and were not answered by 200.
    pub fn lost(&self, since: Instant) -> impl Iterator<Item = &Over> {
        self.since(since).filter(|over| over.status != 200)
    }

    /// How many they are.
    pub fn lost_since(&self, since: Instant) -> usize {
        self.lost(since).count()
    }

    /// The last so many, if as many that were sent since are over.
    pub fn last(&self, count: usize, since: Instant) -> Option<Vec<&Over>> {
        let last: Vec<_> = self.over.values().rev().take(count).take_while(|over| over.sent >= since).collect();
        (last.len() == count).then_some(last)
    }
}
