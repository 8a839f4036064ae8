//! What an apply alone cannot put right.
//!
//! Whoever changes what tells an item of a list apart (the number of a Service's port, the name of a listener) takes
//! our item away and puts one of his own in. Applied again, ours comes beside his, and the API server refuses the two:
//! they have the same name, or the same port. So the lists are replaced first.

use kube::api::{Patch, PatchParams};
use mcwan_core::emit::object::Object;
use mcwan_core::observed::FIELD_MANAGER;
use mcwan_core::observed::Live;
use mcwan_core::observed::fields;
use mcwan_core::outcome::WriteError;
use serde_json::{Value, json};

use super::applier::Applier;
use super::requests::at;

/// How often somebody else may be faster; so many others may have added something.
const TRIES: usize = 3;

impl Applier {
    /// Replaces what differs, and applies the object then.
    pub(super) async fn repair(&self, object: &Object) -> Result<Live, WriteError> {
        self.merge(object, &object.body).await?;
        let mut live = self.send(object, true).await?;
        // By the first request we own everything once more, as one who updates. What we own twice would not go when
        // we no longer apply it.
        for _ in 0..TRIES {
            let Some(owners) = fields::without_updates(&live) else { break };
            let version = live.pointer("/metadata/resourceVersion");
            let patch = json!({"metadata": {"resourceVersion": version, "managedFields": owners}});
            live = match self.merge(object, &patch).await {
                Err(WriteError::Conflict) => self.read(&object.id).await?.unwrap_or_default(),
                answer => answer?,
            };
        }
        Ok(Live::of(&live))
    }

    /// Takes away what others have added, as an apply leaves it alone. Gives what is there then: more where somebody is
    /// faster, or it is refused.
    pub(super) async fn undo_additions(&self, object: &Object, mut live: Value) -> Value {
        for _ in 0..TRIES {
            let Some(patch) = fields::without_additions(&live) else { break };
            match self.merge(object, &patch).await {
                Ok(now) => live = now,
                Err(error) => {
                    tracing::warn!(kind = object.id.kind.title(), key = %object.id.key, ?error, "what others added stays");
                    break;
                }
            }
        }
        live
    }

    async fn merge(&self, object: &Object, patch: &Value) -> Result<Value, WriteError> {
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let (kind, key) = (object.id.kind, &object.id.key);
        let request = at(&self.resource(kind), key).patch(&key.name, &params, &Patch::Merge(patch));
        self.ask(kind, request).await
    }
}
