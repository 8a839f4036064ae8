//! Which pods are better left alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcwan_core::backoff::Backoff;
use mcwan_core::snapshot::Key;

use super::{GatewayError, GatewayPod, GatewayReport};

/// The wait after the first answer without end, doubled each time after.
const LEAST: Duration = Duration::from_secs(20);
/// The longest wait.
const MOST: Duration = Duration::from_mins(10);

/// Pods whose answers had no end, by namespace and name: what they cost must not grow with how often others are asked.
#[derive(Debug, Default)]
pub(super) struct Restraint(Mutex<BTreeMap<Key, Wait>>);

#[derive(Debug)]
struct Wait {
    backoff: Backoff,
    until: Instant,
}

impl Restraint {
    /// Of the namespaces of these pods, there are no others.
    pub(super) fn keep(&self, pods: &[GatewayPod]) {
        let is_over = |Key { namespace, name }: &Key| {
            let mut others = pods.iter().filter(|pod| pod.namespace == *namespace).peekable();
            others.peek().is_some() && others.all(|pod| pod.name != *name)
        };
        self.waits().retain(|key, _| !is_over(key));
    }

    /// Whether a pod is not to be asked now.
    pub(super) fn applies_to(&self, pod: &GatewayPod) -> bool {
        self.waits().get(&key(pod)).is_some_and(|wait| Instant::now() < wait.until)
    }

    /// Takes note of how it went.
    pub(super) fn learn(&self, pod: &GatewayPod, report: &Result<GatewayReport, GatewayError>) {
        match report {
            Err(GatewayError::TooLarge) => {
                let mut waits = self.waits();
                let new = || Wait { backoff: Backoff::new(LEAST, MOST), until: Instant::now() };
                let wait = waits.entry(key(pod)).or_insert_with(new);
                wait.until = Instant::now() + wait.backoff.failed(fastrand::f64());
            }
            Ok(_) => drop(self.waits().remove(&key(pod))),
            Err(GatewayError::Http(_)) => {}
        }
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<Key, Wait>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(pod: &GatewayPod) -> Key {
    Key { namespace: Arc::clone(&pod.namespace), name: Arc::clone(&pod.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_pod(name: &str) -> GatewayPod {
        let address = "10.0.0.1".parse().unwrap();
        GatewayPod { namespace: "secure".into(), name: name.into(), address, is_ready: true }
    }

    #[test]
    fn a_pod_without_end_is_left_alone_until_it_is_another() {
        let restraint = Restraint::default();
        let [endless, well] = [mk_pod("a"), mk_pod("b")];
        restraint.learn(&endless, &Err(GatewayError::TooLarge));
        restraint.learn(&well, &Ok(GatewayReport::default()));
        assert!(restraint.applies_to(&endless) && !restraint.applies_to(&well), "the one, not its neighbour");
        restraint.keep(&[endless.clone(), well.clone()]);
        assert!(restraint.applies_to(&endless), "as long as it is there");
        restraint.keep(&[well]);
        assert!(!restraint.applies_to(&endless), "one of its name later is another");
    }

    #[test]
    fn an_answer_forgives_all() {
        let (restraint, pod) = (Restraint::default(), mk_pod("a"));
        restraint.learn(&pod, &Err(GatewayError::TooLarge));
        restraint.learn(&pod, &Ok(GatewayReport::default()));
        assert!(!restraint.applies_to(&pod));
    }
}
