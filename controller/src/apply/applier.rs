//! Writes and deletes objects, one request after the other or all at once.

use mcwan_core::emit::object::Object;
use mcwan_core::observed::Live;
use mcwan_core::outcome::WriteError;
use mcwan_core::rollout::ApplyError;
use tokio::sync::watch;

use super::contact::Contact;
use crate::watch::Source;

/// Writes and deletes, as long as we lead.
#[derive(Clone)]
pub struct Applier {
    pub(super) source: Source,
    pub(super) leading: watch::Receiver<bool>,
    /// Whether the registry answers.
    pub(super) contact: watch::Receiver<Contact>,
}

impl Applier {
    /// An applier that works while `leading` holds true. Once it is false, or its sender is gone, no request is sent.
    pub fn new(source: &Source, leading: watch::Receiver<bool>) -> Self {
        let (_, contact) = watch::channel(Contact::default());
        Self { source: source.clone(), leading, contact }
    }

    /// The same, which does not wait for a registry that is known not to answer.
    #[must_use]
    pub fn in_contact(mut self, contact: watch::Receiver<Contact>) -> Self {
        self.contact = contact;
        self
    }

    /// Applies an object: to the one of ours with this uid, or else creates it.
    ///
    /// # Errors
    /// It was not written, or something else is there than was thought.
    pub async fn apply(&self, object: Object, uid: Option<&str>) -> Result<Live, ApplyError> {
        let id = object.id.clone();
        match self.write(object, uid).await {
            Ok(live) => Ok(live),
            Err(WriteError::Conflict) => Err(self.look(&id).await.map_or_else(ApplyError::Failed, ApplyError::Found)),
            Err(error) => Err(ApplyError::Failed(error)),
        }
    }
}
