//! A request that somebody makes, whether or not it is theirs to make, and what comes of it.

use std::net::SocketAddr;

use anyhow::Result;
use mcwan_testbed::client::{self, Request, Response};
use mcwan_testbed::namespace::Entrance;
use mcwan_testbed::wan::TestWan;

/// What came of a request from cluster 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The status; none: there was no answer.
    pub(crate) status: Option<u16>,
    /// Who answered, if it was an echo: `CLUSTER/NAMESPACE/POD`.
    pub(crate) echo: Option<String>,
    /// The ports of cluster 1 that something was said to meanwhile.
    pub(crate) ports: Vec<u16>,
}

/// What must come of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It is answered by the service, over the tier with this port.
    Tier(u16),
    /// It is refused with this status, and nothing crosses.
    Refused(u16),
    /// Nobody answers, and nothing crosses.
    Silence,
}

impl Attempt {
    /// Sends a request from somewhere in cluster 2; nobody else may send any meanwhile.
    pub(crate) async fn make(wan: &TestWan, from: &Entrance, to: SocketAddr, request: &Request) -> Result<Self> {
        wan.record();
        let request = request.clone();
        let answer = from.perform(async move { client::send(to, &request).await }).await?.ok();
        let recording = wan.recorded();
        let ports = recording.speeches(2, 1).iter().map(|speech| speech.port).collect();
        let echo = answer.as_ref().and_then(Response::echo_name);
        Ok(Self { status: answer.map(|answer| answer.status), echo, ports })
    }

    /// Whether it went as it must.
    pub(crate) fn is(&self, due: Due) -> bool {
        match due {
            Due::Tier(port) => self.status == Some(200) && self.is_answered() && self.ports == [port],
            Due::Refused(status) => self.status == Some(status) && self.echo.is_none() && self.ports.is_empty(),
            Due::Silence => self.status.is_none() && self.ports.is_empty(),
        }
    }

    /// Whether it went as it must, or was refused, or had no answer.
    pub(crate) fn is_at_most(&self, due: Due) -> bool {
        self.is(due) || due != Due::Silence && self.is_refused()
    }

    /// Whether nobody but gateways of this cluster had it.
    pub(crate) fn is_refused(&self) -> bool {
        self.status.is_none_or(|status| status >= 400) && self.echo.is_none() && self.ports.is_empty()
    }

    fn is_answered(&self) -> bool {
        self.echo.as_ref().is_some_and(|echo| echo.starts_with("cluster-1/secure/payment-"))
    }
}
