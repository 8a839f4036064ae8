//! Everything running, and the cases that are played on it.

use std::net::SocketAddr;

use anyhow::Result;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::Explainer;
use mcwan_core::translate::Translation;

use crate::check;
use crate::client::Request;
use crate::environment::Environment;
use crate::envoy::Envoy;
use crate::example::Case;
use crate::forecast::Forecast;
use crate::outcome::RequestOutcome;

/// A running Envoy with its upstreams, and what the resources that it was configured from mean.
#[derive(Debug)]
pub struct Testbed {
    pub(crate) environment: Environment,
    pub(crate) translation: Translation,
    pub(crate) plugin: Plugin,
    /// The port of the listener that requests are sent to.
    pub(crate) port: u16,
}

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Performance<'c> {
    /// The case.
    pub case: &'c Case,
    /// What happened, each time.
    pub outcomes: Vec<RequestOutcome>,
    /// The rule that decided, for people.
    pub decided_by: String,
    /// What is not as expected; none: all is well.
    pub faults: Vec<String>,
}

impl<'c> Performance<'c> {
    /// Compares what happened with what the example expects and with what `mcwan explain` says.
    pub(crate) fn judge(case: &'c Case, outcomes: Vec<RequestOutcome>, forecast: Forecast) -> Self {
        let mut faults = check::faults(&case.expected, &outcomes);
        faults.extend(outcomes.iter().find_map(|outcome| forecast.fault(outcome)));
        if case.expected.rule.is_some_and(|rule| forecast.rule != Some(rule)) {
            faults.push(format!("{} decided", forecast.decided_by));
        }
        Self { case, outcomes, decided_by: forecast.decided_by, faults }
    }

    /// Whether everything was as expected.
    pub fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

impl Testbed {
    /// Sends a case's request as often as it says, and compares what happened with what the example
    /// expects and with what `mcwan explain` says.
    ///
    /// # Errors
    /// A request has no answer.
    pub async fn perform<'c>(&self, case: &'c Case) -> Result<Performance<'c>> {
        let mut outcomes = Vec::new();
        for _ in 0..case.repeat.get() {
            outcomes.push(self.send(&case.request).await?);
        }
        let explainer = Explainer::new(&self.translation, &self.plugin);
        let forecast = Forecast::new(explainer, &case.request, self.port);
        Ok(Performance::judge(case, outcomes, forecast))
    }

    /// Sends a request to Envoy, to the lowest port that it listens on.
    ///
    /// # Errors
    /// It has no answer.
    pub async fn send(&self, request: &Request) -> Result<RequestOutcome> {
        self.environment.send(self.port, request).await
    }

    /// How many requests have arrived at upstreams so far.
    pub fn arrivals(&self) -> u64 {
        self.environment.arrivals()
    }

    /// The Envoy.
    pub fn envoy(&self) -> &Envoy {
        self.environment.envoy()
    }

    /// Where requests are sent.
    pub fn service(&self) -> SocketAddr {
        (self.environment.address(), self.port).into()
    }
}
