//! What became of some objects, one state after the other.

use std::pin::pin;

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::Value;

use crate::scene::Scene;

/// From when on some objects are looked at.
pub(crate) struct History {
    /// Objects, and the API server's version at that time.
    from: Vec<(&'static str, String)>,
}

impl History {
    /// Begins now.
    pub(crate) async fn begin(scene: &Scene, ids: &[&'static str]) -> Result<Self> {
        let mut from = Vec::new();
        for id in ids {
            let (api, _) = scene.find(id);
            let all = api.list(&ListParams::default()).await?;
            from.push((*id, all.metadata.resource_version.context("a list without a version")?));
        }
        Ok(Self { from })
    }

    /// Every state since, in the order in which they were written. The API server remembers them.
    pub(crate) async fn end(self, scene: &Scene) -> Result<Vec<Value>> {
        let mut states = Vec::new();
        for (id, from) in self.from {
            let last = scene.get(id).await?.with_context(|| format!("no {id}"))?;
            let (api, name) = scene.find(id);
            let params = WatchParams::default().fields(&format!("metadata.name={name}"));
            let mut events = pin!(api.watch(&params, &from).await?);
            loop {
                let state = match events.next().await.context("the watch has ended")?? {
                    WatchEvent::Modified(object) => serde_json::to_value(object)?,
                    WatchEvent::Bookmark(_) => continue,
                    event => bail!("{id}: {event:?}"),
                };
                let is_last = version(&state) == version(&last);
                states.push(state);
                if is_last {
                    break;
                }
            }
        }
        states.sort_by_key(|state| version(state).parse::<u64>().unwrap_or_default());
        Ok(states)
    }
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}
