//! The steering key of a cluster: kept in a Secret, so that every replica steers by the same one.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::{Client, Error};
use mcwan_core::backoff::Backoff;
use mcwan_core::translate::{SteeringKey, SteeringKeyError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::apply::ANSWER_TIMEOUT;
use crate::errors::with_causes;

/// The name of the Secret.
pub const SECRET: &str = "mcwan-steering-key";
/// The entry that holds the key.
pub const ENTRY: &str = "key";

/// Bytes of randomness in a new key.
const RANDOM_BYTES: usize = 32;

const CONFLICT: u16 = 409;

/// For how long a watch is believed; to read one Secret so often costs nothing.
const LONGEST_WATCH: Duration = Duration::from_mins(5);

/// The version of a watch that begins with whatever the API server has (Kubernetes API concepts, "Resource versions").
const FROM_NOW: &str = "0";

/// A watch that lasts for so long has not failed.
const SOUND_WATCH: Duration = Duration::from_secs(30);

/// The waits while the API server does not answer: nothing can be steered without the key, and one question burdens nobody.
const WAITS: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(15));

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum SteeringSecretError {
    /// The API server does not answer, or forbids it.
    #[error("Secret {namespace}/{SECRET} cannot be {verb}")]
    Api {
        /// Of the Secret.
        namespace: String,
        /// What we tried to do with it.
        verb: &'static str,
        /// Why not.
        source: Box<Error>,
    },
    /// The Secret holds no key.
    #[error(
        "Secret {namespace}/{SECRET} has no usable entry `{ENTRY}`: put a text of at least 16 characters there, or \
         delete the Secret and a new one is made; either changes every target's steering value"
    )]
    Content {
        /// Of the Secret.
        namespace: String,
        /// What is wrong with it; none where there is no such entry, or it is no text.
        source: Option<SteeringKeyError>,
    },
    /// The system has no randomness to make one.
    #[error("no steering key can be made")]
    Random(#[from] getrandom::Error),
}

/// A key that nobody knows, for those who keep none.
///
/// # Errors
/// Where the system has no randomness.
pub fn random() -> Result<SteeringKey, getrandom::Error> {
    random_bytes().map(SteeringKey::of_random_bytes)
}

fn random_bytes() -> Result<[u8; RANDOM_BYTES], getrandom::Error> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    Ok(random)
}

/// The key of the cluster, now and whenever it becomes another one; waits for an API server that does not answer. A Secret
/// that is gone is made anew. While one holds no key, the one before stays.
///
/// # Errors
/// The Secret holds no key to begin with.
pub async fn follow(client: Client, namespace: &str) -> Result<watch::Receiver<SteeringKey>, SteeringSecretError> {
    let (sender, keys) = watch::channel(wait_for(&client, namespace).await?);
    let namespace = namespace.to_owned();
    tokio::spawn(async move {
        tokio::select! {
            () = keep(client, &namespace, &sender) => {}
            () = sender.closed() => {}
        }
    });
    Ok(keys)
}

/// Tells of each other key. The watch is begun anew where it ends, and after a while: an API server that was restored from a
/// backup tells those who watch from a version in its future nothing.
async fn keep(client: Client, namespace: &str, keys: &watch::Sender<SteeringKey>) {
    let mut backoff = WAITS;
    loop {
        let begun = Instant::now();
        if let Ok(Err(error)) = timeout(LONGEST_WATCH, watched(&client, namespace, keys)).await {
            tracing::warn!(error = with_causes(&error), "Secret {namespace}/{SECRET} cannot be watched");
        }
        // One that ends at once, though nobody calls that an error, is none.
        if begun.elapsed() >= SOUND_WATCH {
            backoff.succeeded();
        }
        sleep(backoff.failed(fastrand::f64())).await;
    }
}

/// Tells of each other key until the watch ends. What that says is no more than a hint to look.
async fn watched(client: &Client, namespace: &str, keys: &watch::Sender<SteeringKey>) -> Result<(), Error> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let one = WatchParams::default().fields(&format!("metadata.name={SECRET}"));
    let mut events = pin!(secrets.watch_metadata(&one, FROM_NOW).await?);
    // It tells of no Secret that went before it began.
    look(client, namespace, keys).await;
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Error(status) = event {
            return Err(Error::Api(status));
        }
        look(client, namespace, keys).await;
    }
    Ok(())
}

/// Tells of the key, if it is another one.
async fn look(client: &Client, namespace: &str, keys: &watch::Sender<SteeringKey>) {
    match wait_for(client, namespace).await {
        Ok(key) => {
            let is_news = keys.send_if_modified(|known| std::mem::replace(known, key.clone()) != key);
            if is_news {
                tracing::info!("the steering key is another one");
            }
        }
        Err(error) => tracing::error!(source = error.source(), "{error}; the key stays as it was"),
    }
}

/// The key; waits for an API server that does not answer.
async fn wait_for(client: &Client, namespace: &str) -> Result<SteeringKey, SteeringSecretError> {
    let mut backoff = WAITS;
    loop {
        match timeout(ANSWER_TIMEOUT, read_or_create(client.clone(), namespace)).await {
            Ok(Err(error @ SteeringSecretError::Api { .. })) => {
                tracing::warn!(error = with_causes(&error), "no steering key yet");
            }
            Ok(known) => return known,
            Err(_) => tracing::warn!("no steering key yet: no answer within {ANSWER_TIMEOUT:?}"),
        }
        sleep(backoff.failed(fastrand::f64())).await;
    }
}

/// Reads the key from the Secret in our namespace, and makes the Secret if there is none. A Secret that
/// is there is never written.
pub async fn read_or_create(client: Client, namespace: &str) -> Result<SteeringKey, SteeringSecretError> {
    let api: Api<Secret> = Api::namespaced(client, namespace);
    let failed = |verb| {
        move |source| SteeringSecretError::Api { namespace: namespace.to_owned(), verb, source: Box::new(source) }
    };
    if let Some(secret) = api.get_opt(SECRET).await.map_err(failed("read"))? {
        return key(&secret, namespace);
    }
    let params = PostParams { field_manager: Some("mcwan".to_owned()), ..PostParams::default() };
    let secret = match api.create(&params, &new_secret()?).await {
        // Another replica was faster: the key is what it made.
        Err(Error::Api(status)) if status.code == CONFLICT => api.get(SECRET).await.map_err(failed("read"))?,
        made => made.map_err(failed("made"))?,
    };
    key(&secret, namespace)
}

fn new_secret() -> Result<Secret, getrandom::Error> {
    let random = random_bytes()?;
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            labels: Some(BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "mcwan".to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(ENTRY.to_owned(), ByteString(hex::encode(random).into_bytes()))])),
        ..Secret::default()
    })
}

fn key(secret: &Secret, namespace: &str) -> Result<SteeringKey, SteeringSecretError> {
    let entry = secret.data.as_ref().and_then(|data| data.get(ENTRY));
    let text = entry.and_then(|entry| std::str::from_utf8(&entry.0).ok());
    let refuse = |source| SteeringSecretError::Content { namespace: namespace.to_owned(), source };
    text.ok_or_else(|| refuse(None))?.trim_end().parse().map_err(|error| refuse(Some(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_secret(data: &[(&str, &[u8])]) -> Secret {
        let data = data.iter().map(|(name, value)| ((*name).to_owned(), ByteString(value.to_vec())));
        Secret { data: Some(data.collect()), ..Secret::default() }
    }

    #[test]
    fn a_new_secret_holds_a_key_that_is_no_others() {
        let [one, other] = [new_secret(), new_secret()].map(Result::unwrap);
        let digest = |secret| key(secret, "ns").unwrap().digest("a", "b", "c");
        assert_eq!(digest(&one), digest(&one));
        assert_ne!(digest(&one), digest(&other));
    }

    #[test]
    fn a_line_end_behind_the_key_does_not_count() {
        let bare = mk_secret(&[(ENTRY, b"0123456789abcdef")]);
        let with_end = mk_secret(&[(ENTRY, b"0123456789abcdef\n")]);
        assert_eq!(
            key(&bare, "ns").unwrap().digest("a", "b", "c"),
            key(&with_end, "ns").unwrap().digest("a", "b", "c")
        );
    }

    #[test]
    fn what_is_no_key_is_refused_with_advice() {
        for (what, secret) in [
            ("no data", Secret::default()),
            ("no such entry", mk_secret(&[("other", b"0123456789abcdef")])),
            ("too short", mk_secret(&[(ENTRY, b"0123456789abcde\n")])),
            ("no text", mk_secret(&[(ENTRY, &[0xff; 32])])),
        ] {
            let error = key(&secret, "mc-wan-system").expect_err(what).to_string();
            assert!(error.contains("Secret mc-wan-system/mcwan-steering-key") && error.contains("delete"), "{error}");
        }
    }
}
