//! The life of a pod, from its binding to its removal.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Error, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, interval, sleep, sleep_until};

use super::RETRY;
use super::container::{ContainerKind, Running, probe};
use super::node::{self, Node};
use super::order::Order;
use super::register::Register;
use super::reporter::Reporter;
use super::status::{Health, State, status};
use crate::network::Host;

/// How often a container is looked at, and how often it is asked whether it is ready once it was.
const LOOK: Duration = Duration::from_millis(100);
const PROBE: Duration = Duration::from_secs(1);

/// How long after its end a container starts again: at first, and at most.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// How it comes that a container does not run any more.
enum End {
    Exited,
    Ordered(Option<Duration>),
}

/// A pod that is bound, while it lives.
struct Life {
    node: Arc<Node>,
    register: Register,
    pod: Pod,
    kind: ContainerKind,
    orders: UnboundedReceiver<Order>,
    reporter: Reporter,
    health: Health,
}

/// Lets a pod live until it is told to end.
pub(super) async fn live(
    node: Arc<Node>,
    register: Register,
    pod: Pod,
    kind: ContainerKind,
    orders: UnboundedReceiver<Order>,
) {
    bind(&node, &pod).await;
    let reporter = Reporter::new(Arc::clone(&node), &pod);
    let health = Health::new(&pod, node.address());
    let mut life = Life { node, register, pod, kind, orders, reporter, health };
    if let Some(host) = life.settle().await {
        life.run(&host).await;
    }
    let Life { node, register, pod, reporter, .. } = life;
    drop(reporter);
    let uid = pod.uid().unwrap_or_default();
    remove(node, pod).await;
    register.remove(&uid);
}

/// Says on which node a pod is.
async fn bind(node: &Node, pod: &Pod) {
    let name = pod.name_any();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node::NAME}});
    let pods: Api<Pod> = Api::namespaced(node.client.clone(), &pod.namespace().unwrap_or_default());
    loop {
        let answer: kube::Result<Value> =
            pods.create_subresource("binding", &name, &PostParams::default(), &binding).await;
        match answer {
            Err(error) if is_passing(&error) => sleep(RETRY).await,
            // Where it is bound already, or gone, there is nothing to do.
            Ok(_) | Err(_) => return,
        }
    }
}

impl Life {
    /// Finds a place for the pod. None: it is ordered to end meanwhile.
    async fn settle(&mut self) -> Option<Host> {
        let host = loop {
            match self.node.hosts.attach().await {
                Ok(host) => break host,
                Err(error) => self.turn(State::waiting("FailedCreatePodSandBox", &format!("{error:#}"))),
            }
            if self.pause(FIRST_BACKOFF).await {
                return None;
            }
        };
        self.register.set_entrance(&self.pod.uid().unwrap_or_default(), host.namespace().entrance());
        self.health.address = Some(host.address());
        // What it may know of its place before the API server says so.
        self.pod.status = Some(PodStatus {
            pod_ip: Some(host.address().to_string()),
            host_ip: Some(self.node.address().to_string()),
            ..PodStatus::default()
        });
        if let Some(spec) = &mut self.pod.spec {
            spec.node_name = Some(node::NAME.to_owned());
        }
        Some(host)
    }

    /// Runs the container, again and again, until it is ordered to end; then it has ended.
    async fn run(&mut self, host: &Host) {
        let mut backoff = FIRST_BACKOFF;
        loop {
            // Its address is told before it runs: it may be admitted somewhere by it.
            self.report();
            match self.kind.start(&self.node, &self.pod, host).await {
                Ok(mut running) => match self.attend(&mut running, host).await {
                    End::Ordered(grace) => {
                        // It is killed where it cannot be asked.
                        let _ = running.stop(grace.unwrap_or_default()).await;
                        return;
                    }
                    End::Exited => {
                        self.health.restarts += 1;
                        self.turn(State::waiting("CrashLoopBackOff", "it ended"));
                    }
                },
                Err(error) => self.turn(State::waiting("CreateContainerError", &format!("{error:#}"))),
            }
            if self.pause(backoff).await {
                return;
            }
            backoff = LONGEST_BACKOFF.min(backoff * 2);
        }
    }

    /// Waits before the next start. Says whether there is none, as an order to end came.
    async fn pause(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            tokio::select! {
                () = sleep_until(end) => return false,
                order = self.orders.recv() => match order {
                    Some(Order::Kill) => {}
                    Some(Order::Gates(gates)) => self.open(gates),
                    Some(Order::End(_) | Order::Gone) | None => return true,
                },
            }
        }
    }

    /// Looks after a running container, and tells whether it is ready.
    async fn attend(&mut self, running: &mut Running, host: &Host) -> End {
        let mut probe = probe(&self.pod, host);
        self.turn(State::Running { ready: probe.is_none() });
        let mut looks = interval(LOOK);
        let mut next_probe = Instant::now();
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                order = self.orders.recv() => match order {
                    Some(Order::Kill) => {
                        *running = Running::Nothing;
                        return End::Exited;
                    }
                    Some(Order::Gates(gates)) => self.open(gates),
                    Some(Order::End(grace)) => return End::Ordered(Some(grace)),
                    Some(Order::Gone) | None => return End::Ordered(None),
                },
            }
            if running.has_ended().unwrap_or(true) {
                return End::Exited;
            }
            if let Some(probe) = &mut probe
                && Instant::now() >= next_probe
            {
                let ready = probe.ask().await;
                self.turn(State::Running { ready });
                next_probe = Instant::now() + if ready { PROBE } else { LOOK };
            }
        }
    }

    /// Takes on a state, and tells it where it is another.
    fn turn(&mut self, state: State) {
        if self.health.state != state {
            (self.health.state, self.health.turned) = (state, Timestamp::now());
            self.report();
        }
    }

    /// Its readiness gates are open, or are not, which is told where it is news.
    fn open(&mut self, gates: bool) {
        if self.health.gates != gates {
            (self.health.gates, self.health.turned) = (gates, Timestamp::now());
            self.report();
        }
    }

    fn report(&self) {
        self.reporter.report(status(&self.pod, &self.health));
    }
}

/// Removes a Pod whose containers have ended.
pub(super) async fn remove(node: Arc<Node>, pod: Pod) {
    let pods: Api<Pod> = Api::namespaced(node.client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let parameters = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions { uid: pod.metadata.uid.clone(), resource_version: None }),
        ..DeleteParams::default()
    };
    while let Err(error) = pods.delete(&name, &parameters).await {
        // Not found, or another of the same name: it is gone.
        if !is_passing(&error) {
            return;
        }
        sleep(RETRY).await;
    }
}

/// Whether the API server may answer otherwise later.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Api(answer) => answer.code >= 500 || answer.code == 429,
        _ => true,
    }
}
