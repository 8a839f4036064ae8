//! Carries out the commands of the rollout, and brings it the answers.

use std::sync::Arc;

use mcwan_core::rollout::{Answer, Command};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::apply::Applier;
use crate::events::Events;
use crate::gateways::GatewayReader;

/// Carries out commands, each in a task of its own. How many there are at once, the rollout bounds; how many of them ask the
/// API server at once is bounded here.
pub(super) struct Executor {
    applier: Applier,
    requests: Arc<Semaphore>,
    gateways: GatewayReader,
    events: Events,
    sender: mpsc::UnboundedSender<Answer>,
    answers: mpsc::UnboundedReceiver<Answer>,
    tasks: JoinSet<()>,
}

impl Executor {
    /// An executor with so many requests to the API server at once.
    pub(super) fn new(applier: Applier, concurrency: usize, gateways: GatewayReader, events: Events) -> Self {
        let (sender, answers) = mpsc::unbounded_channel();
        let requests = Arc::new(Semaphore::new(concurrency.max(1)));
        Self { applier, requests, gateways, events, sender, answers, tasks: JoinSet::new() }
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
        while self.tasks.try_join_next().is_some() {}
    }

    fn start(&mut self, command: Command) {
        let (applier, gateways) = (self.applier.clone(), self.gateways.clone());
        let (requests, sender) = (Arc::clone(&self.requests), self.sender.clone());
        self.tasks.spawn(async move {
            // It is never closed.
            let permit = match command {
                Command::Ask { .. } => None,
                _ => requests.acquire().await.ok(),
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

    /// The next answer.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        self.answers.recv().await
    }

    /// The next answer, if there is one already.
    pub(super) fn try_answer(&mut self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}
