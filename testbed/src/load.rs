//! A steady stream of requests, to see what of it gets lost.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::client::{self, Request, Response};
use crate::namespace::Namespace;

/// How many connections are kept open. A request waits for a free one, so answers must not take longer than this many
/// requests take to be sent.
const CONNECTIONS: usize = 32;

/// How long a request may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// How many requests are sent at most.
const MOST: usize = 200_000;

/// What is sent, where, and how often.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The requests, which take turns.
    pub requests: Vec<Request>,
    /// Where to: the connections are shared out between them.
    pub to: Vec<SocketAddr>,
    /// Requests a second, whatever becomes of them.
    pub rate: u32,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub struct LoadAnswer {
    /// Which of the plan's requests.
    pub request: usize,
    /// Where it was sent.
    pub to: SocketAddr,
    /// When it was sent.
    pub sent: Instant,
    /// When it was over.
    pub done: Instant,
    /// The answer, or what happened in place of one.
    pub outcome: Result<Response, String>,
}

/// A stream of requests that goes on until it is stopped or dropped.
#[derive(Debug)]
pub struct Load {
    answers: Answers,
    stop: oneshot::Sender<()>,
    stopped: oneshot::Receiver<()>,
}

/// What has been answered so far.
type Answers = Arc<Mutex<Vec<LoadAnswer>>>;

impl LoadAnswer {
    /// The status, or 0 where there was no answer.
    pub fn status(&self) -> u16 {
        self.outcome.as_ref().map_or(0, |response| response.status)
    }
}

impl Load {
    /// Starts to send from inside a namespace.
    ///
    /// # Errors
    /// The namespace is gone, or nothing is planned.
    pub async fn start(namespace: &Namespace, plan: Plan) -> Result<Self> {
        ensure!(!plan.requests.is_empty() && !plan.to.is_empty() && plan.rate > 0, "nothing is planned");
        let answers = Answers::default();
        let (stop, stopping) = oneshot::channel();
        let (done, stopped) = oneshot::channel();
        let run = run(plan, Arc::clone(&answers), stopping);
        let run = async move {
            run.await;
            // Nobody waits for it where it is dropped.
            let _ = done.send(());
        };
        namespace.run(move || drop(tokio::spawn(run))).await?;
        Ok(Self { answers, stop, stopped })
    }

    /// How many requests are over.
    pub fn count(&self) -> usize {
        lock(&self.answers).len()
    }

    /// What has become of requests, but for those that were over first, in the order in which they were over.
    pub fn answers_after(&self, first: usize) -> Vec<LoadAnswer> {
        lock(&self.answers).get(first..).unwrap_or_default().to_vec()
    }

    /// Sends no more, waits for what is under way, and gives what has become of every request.
    ///
    /// # Errors
    /// The namespace is gone.
    pub async fn stop(self) -> Result<Vec<LoadAnswer>> {
        let Self { answers, stop, stopped } = self;
        // It may have ended by itself; then there is nobody to tell.
        let _ = stop.send(());
        stopped.await.context("the load's namespace is gone")?;
        let answers = std::mem::take(&mut *lock(&answers));
        Ok(answers)
    }
}

/// How many answers there are of each status; 0 stands for none.
pub fn statuses(answers: &[LoadAnswer]) -> BTreeMap<u16, usize> {
    let mut statuses = BTreeMap::new();
    for answer in answers {
        *statuses.entry(answer.status()).or_default() += 1;
    }
    statuses
}

async fn run(plan: Plan, answers: Answers, mut stop: oneshot::Receiver<()>) {
    let Plan { requests, to, rate } = plan;
    let requests: Arc<[Request]> = requests.into();
    let (turns, queue) = mpsc::channel::<usize>(CONNECTIONS * 4);
    let queue = Arc::new(tokio::sync::Mutex::new(queue));
    let mut workers = JoinSet::new();
    for address in to.into_iter().cycle().take(CONNECTIONS) {
        workers.spawn(work(address, Arc::clone(&requests), Arc::clone(&queue), Arc::clone(&answers)));
    }
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for request in (0..requests.len()).cycle().take(MOST) {
        tokio::select! {
            // Told to stop, or dropped.
            _ = &mut stop => break,
            _ = ticks.tick() => {}
        }
        if turns.send(request).await.is_err() {
            break;
        }
    }
    drop(turns);
    while workers.join_next().await.is_some() {}
}

/// Sends one request after the other over a connection that is made anew where it was closed.
async fn work(
    to: SocketAddr,
    requests: Arc<[Request]>,
    queue: Arc<tokio::sync::Mutex<mpsc::Receiver<usize>>>,
    answers: Answers,
) {
    let mut connection = None;
    loop {
        let turn = queue.lock().await.recv().await;
        let Some((index, request)) = turn.and_then(|index| Some((index, requests.get(index)?))) else { return };
        let sent = Instant::now();
        let outcome = match timeout(DEADLINE, exchange(to, request, &mut connection)).await {
            Ok(outcome) => outcome.map_err(|error| format!("{error:#}")),
            Err(_) => Err(format!("no answer within {DEADLINE:?}")),
        };
        lock(&answers).push(LoadAnswer { request: index, to, sent, done: Instant::now(), outcome });
    }
}

type Connection = SendRequest<Empty<Bytes>>;

/// Sends a request over an open connection, if there is one that the server has not closed, else over a new one.
async fn exchange(to: SocketAddr, request: &Request, known: &mut Option<Connection>) -> Result<Response> {
    let open = match known.take() {
        Some(mut open) => open.ready().await.is_ok().then_some(open),
        None => None,
    };
    let mut connection = match open {
        Some(open) => open,
        None => connect(to).await?,
    };
    let answer = match connection.send_request(client::compose(request)?).await {
        // It was closed in this moment, and nothing has been sent.
        Err(error) if error.is_canceled() => {
            connection = connect(to).await?;
            connection.send_request(client::compose(request)?).await?
        }
        answer => answer?,
    };
    let (head, body) = answer.into_parts();
    let response = client::response(&head, &body.collect().await?.to_bytes());
    *known = Some(connection);
    Ok(response)
}

async fn connect(to: SocketAddr) -> Result<Connection> {
    let stream = TcpStream::connect(to).await.with_context(|| format!("cannot connect to {to}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::Builder::new().title_case_headers(true).handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

fn lock(answers: &Answers) -> MutexGuard<'_, Vec<LoadAnswer>> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::Echo;
    use crate::wait::until;

    #[tokio::test]
    async fn every_request_is_accounted_for() {
        let namespace = Namespace::new().await.unwrap();
        let to = SocketAddr::from(([127, 0, 0, 1], 8080));
        let echo = namespace.perform(Echo::start(to)).await.unwrap().unwrap();
        let request = |path: &str| Request {
            method: "GET".to_owned(),
            host: Some(b"echo".to_vec()),
            path: path.to_owned(),
            headers: Vec::new(),
        };
        let plan = Plan { requests: vec![request("/a"), request("/b")], to: vec![to], rate: 500 };
        let load = Load::start(&namespace, plan).await.unwrap();
        let patience = Duration::from_secs(20);
        until(patience, "100 are answered", async || Ok(load.count() >= 100)).await.unwrap();
        drop(echo);
        let lost = async || Ok(load.answers_after(100).iter().any(|answer| answer.status() == 0));
        until(patience, "some are lost", lost).await.unwrap();
        let answers = load.stop().await.unwrap();
        let statuses = statuses(&answers);
        assert_eq!(statuses.values().sum::<usize>(), answers.len());
        assert!(statuses[&200] >= 100, "{statuses:?}");
        for answer in answers.iter().filter(|answer| answer.status() == 200) {
            let path = ["/a", "/b"][answer.request];
            assert_eq!(answer.outcome.as_ref().unwrap().seen().unwrap().path, path);
        }
    }
}
