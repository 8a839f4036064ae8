//! Fetches the module again and again, and says how it went.

use std::path::PathBuf;
use std::time::Duration;

use mcwan_core::backoff::Backoff;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::reference::Location;
use super::{ModuleError, ModuleRef, binary, credentials, http, image};

/// How long one check may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Between a check that went well and the next; also the longest time between two that did not.
const PERIOD: Duration = Duration::from_mins(5);

/// Between the first check that failed and the next.
const RETRY: Duration = Duration::from_secs(2);

/// How many tries in a row must fail before a module that could be had is said to be lost: as long as
/// gateways have it, a short break harms nobody.
const TRIES: u32 = 3;

/// What is known of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModuleStatus {
    /// It was not fetched yet.
    #[default]
    Unknown,
    /// It can be fetched and is the filter.
    Ok,
    /// It cannot be fetched, or is something else.
    Failed(ModuleError),
}

/// How the module is fetched.
#[derive(Clone, Debug)]
pub struct ModuleCheck {
    /// Which one.
    pub module: ModuleRef,
    /// The OCI registries, as `HOST[:PORT]`, that speak plain HTTP.
    pub insecure_registries: Vec<String>,
    /// A docker config file with credentials for OCI registries; read on each check.
    pub registry_config: Option<PathBuf>,
    /// A PEM file of certificate authorities to trust beside the usual ones; read on each check.
    pub authorities: Option<PathBuf>,
}

impl ModuleCheck {
    /// Fetches the module from now on, in a task that ends once nobody listens any more.
    pub fn watch(self) -> watch::Receiver<ModuleStatus> {
        let (sender, receiver) = watch::channel(ModuleStatus::Unknown);
        tokio::spawn(async move {
            tokio::select! {
                () = sender.closed() => {}
                () = self.repeat(&sender) => {}
            }
        });
        receiver
    }

    /// Fetches the module once and looks at it.
    pub async fn once(&self) -> Result<(), ModuleError> {
        let Ok(module) = timeout(TIMEOUT, self.fetch()).await else {
            let why = format!("it takes longer than {} seconds", TIMEOUT.as_secs());
            return Err(ModuleError::FetchFailed { url: self.module.url(), why });
        };
        binary::check(&module?)
    }

    async fn fetch(&self) -> Result<Vec<u8>, ModuleError> {
        let client = http::client(self.authorities.as_deref())?;
        match self.module.location() {
            Location::Image(image) => {
                let scheme = if self.insecure_registries.contains(&image.host) { "http" } else { "https" };
                let login = || match &self.registry_config {
                    Some(config) => credentials::login(config, image.server()),
                    None => Ok(None),
                };
                binary::unpack(&image::pull(&client, scheme, image, self.module.digest(), login).await?)
            }
            Location::File(url) => {
                let module = http::send(client.get(url.clone()), url.as_str()).await?.success(url.as_str())?;
                image::verify(&module, self.module.digest(), url.as_str())?;
                Ok(module)
            }
        }
    }

    async fn repeat(&self, status: &watch::Sender<ModuleStatus>) {
        let mut failures = 0_u32;
        let mut backoff = Backoff::new(RETRY, PERIOD);
        loop {
            let result = self.once().await;
            let pause = if result.is_ok() {
                failures = 0;
                backoff.succeeded();
                // A tenth more or less, so that replicas do not march in step.
                PERIOD.mul_f64(0.9 + 0.2 * fastrand::f64())
            } else {
                failures = failures.saturating_add(1);
                backoff.failed(fastrand::f64())
            };
            status.send_if_modified(|status| follow(status, result, failures));
            sleep(pause).await;
        }
    }
}

/// Takes over the result of a check; returns whether that is news.
fn follow(status: &mut ModuleStatus, result: Result<(), ModuleError>, failures: u32) -> bool {
    let new = match result {
        Ok(()) => ModuleStatus::Ok,
        Err(error) if !error.is_wrong() && *status == ModuleStatus::Ok && failures < TRIES => return false,
        Err(error) => ModuleStatus::Failed(error),
    };
    if *status == new {
        return false;
    }
    match &new {
        ModuleStatus::Failed(error) => warn!(reason = %error.reason(), %error, "the module cannot be used"),
        ModuleStatus::Ok => info!("the module can be fetched"),
        ModuleStatus::Unknown => {}
    }
    *status = new;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_break_is_no_news_but_a_wrong_module_is() {
        let broken = || ModuleError::FetchFailed { url: "u".to_owned(), why: "w".to_owned() };
        let refused = || ModuleError::Unauthorized("u".to_owned());
        let wrong = || ModuleError::WireVersionMismatch(9);
        let mut status = ModuleStatus::Unknown;
        for (result, failures, want) in [
            (Err(broken()), 1, ModuleStatus::Failed(broken())),
            (Ok(()), 0, ModuleStatus::Ok),
            (Err(broken()), 1, ModuleStatus::Ok),
            (Err(broken()), 2, ModuleStatus::Ok),
            (Err(broken()), 3, ModuleStatus::Failed(broken())),
            (Ok(()), 0, ModuleStatus::Ok),
            (Err(refused()), 2, ModuleStatus::Ok),
            (Err(refused()), 3, ModuleStatus::Failed(refused())),
            (Ok(()), 0, ModuleStatus::Ok),
            (Err(wrong()), 1, ModuleStatus::Failed(wrong())),
        ] {
            let news = status != want;
            assert_eq!(follow(&mut status, result, failures), news);
            assert_eq!(status, want);
        }
    }
}
