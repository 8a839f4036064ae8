//! Carries out the commands of the rollout, and brings it the answers.

use std::sync::Arc;

use mcwan_core::rollout::{Answer, Command};
use mcwan_core::watched::Watched;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::apply::Applier;
use crate::events::Events;
use crate::gateways::GatewayReader;

/// Carries out commands, each in a task of its own. How many there are at once, the rollout bounds; how many of them ask an
/// API server at once is bounded here.
pub(super) struct Executor {
    applier: Applier,
    /// For requests to this cluster's API server.
    local: Arc<Semaphore>,
    /// For those to the registry, so that one that is slow takes no turn of the others.
    registry: Arc<Semaphore>,
    gateways: GatewayReader,
    events: Events,
    sender: mpsc::UnboundedSender<Answer>,
    answers: mpsc::UnboundedReceiver<Answer>,
    tasks: JoinSet<()>,
}

impl Executor {
    /// An executor with so many requests to this cluster's API server at once, and as many to the registry.
    pub(super) fn new(applier: Applier, concurrency: usize, gateways: GatewayReader, events: Events) -> Self {
        let (sender, answers) = mpsc::unbounded_channel();
        let [local, registry] = [(); 2].map(|()| Arc::new(Semaphore::new(concurrency.max(1))));
        Self { applier, local, registry, gateways, events, sender, answers, tasks: JoinSet::new() }
    }

    /// Gives up what is under way: another replica leads. What has reached the API server by then is done.
    pub(super) fn stand_by(&mut self) {
        self.tasks.abort_all();
        (self.sender, self.answers) = mpsc::unbounded_channel();
    }

    /// Carries out commands.
    pub(super) fn carry_out(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Tell { patch } => self.events.publish(&patch),
                command => self.start(command),
            }
        }
        // What is done is forgotten.
        while let Some(done) = self.tasks.try_join_next() {
            if let Err(error) = done
                && let Ok(panic) = error.try_into_panic()
            {
                // Nobody would ever answer what it was to do.
                std::panic::resume_unwind(panic);
            }
        }
    }

    fn start(&mut self, command: Command) {
        let (applier, gateways) = (self.applier.clone(), self.gateways.clone());
        let (requests, sender) = (self.asked_by(&command).cloned(), self.sender.clone());
        self.tasks.spawn(async move {
            let permit = match requests {
                // It is never closed.
                Some(requests) => requests.acquire_owned().await.ok(),
                None => None,
            };
            let answer = match command {
                Command::Apply { object, desired, uid } => {
                    let id = object.id.clone();
                    Some(Answer::Applied { id, desired, result: applier.apply(object, uid.as_deref()).await })
                }
                Command::Delete { id, live } => {
                    let result = applier.delete(&id, &live).await;
                    Some(Answer::Deleted { id, result })
                }
                Command::Read { id } => {
                    let result = applier.read(&id).await;
                    Some(Answer::Read { id, result })
                }
                Command::Touch { id } => {
                    applier.touch(&id).await;
                    None
                }
                Command::Ask { namespace, pods } => {
                    Some(Answer::Asked { namespace, reports: gateways.read(pods).await })
                }
                Command::WriteStatus { patch } => {
                    let result = applier.apply_status(&patch).await;
                    Some(Answer::StatusWritten { patch, result })
                }
                Command::OpenGate { patch } => {
                    applier.open_gate(&patch).await;
                    None
                }
                Command::Tell { .. } => None,
            };
            drop(permit);
            if let Some(answer) = answer {
                // Nobody waits for it where the controller ends.
                let _ = sender.send(answer);
            }
        });
    }

    /// Whose turn a command waits for: that of the API server which it asks, if it asks one.
    fn asked_by(&self, command: &Command) -> Option<&Arc<Semaphore>> {
        let id = match command {
            Command::Apply { object, .. } => &object.id,
            Command::Delete { id, .. } | Command::Read { id } | Command::Touch { id } => id,
            Command::WriteStatus { .. } | Command::OpenGate { .. } => return Some(&self.local),
            Command::Ask { .. } | Command::Tell { .. } => return None,
        };
        Some(if Watched::Emitted(id.kind).is_in_registry() { &self.registry } else { &self.local })
    }

    /// The next answer.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        self.answers.recv().await
    }

    /// The answers that are there already, so many at most.
    pub(super) fn answers_so_far(&mut self, most: usize) -> Vec<Answer> {
        let number = self.answers.len().min(most);
        (0..number).map_while(|_| self.answers.try_recv().ok()).collect()
    }
}
