//! What the rollout hears of, and what it asks for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use mcwan_policy::sla::{PathName, Shown};
use serde_json::Value;

use crate::api::McsVersion;
use crate::emit::object::{Object, ObjectId};
use crate::observed::{Digest, Live};
use crate::outcome::WriteError;
use crate::snapshot::Key;
use crate::status::StatusPatch;
use crate::translate::SteeringKey;
use crate::watched::Watched;

/// Something that has happened.
#[derive(Debug)]
pub enum Event {
    /// A watch saw something.
    Watch(WatchEvent),
    /// This replica leads from now on, or does so no more: then nothing that it has asked for is answered any more.
    Leading(bool),
    /// What is known of the filter's module.
    Module(ModuleVerdict),
    /// The key of steering values is another one.
    SteeringKey(SteeringKey),
    /// Of each Secret that `Route`s name, as far as that was asked, whether we may read it.
    ReadableSecrets(BTreeMap<Key, bool>),
    /// A command was carried out.
    Answer(Answer),
    /// Nothing, but time has passed.
    Time,
}

/// What a watch saw.
#[derive(Debug)]
pub enum WatchEvent {
    /// An object is there, maybe the same as before.
    Changed {
        /// Its kind.
        kind: Watched,
        /// Its namespace and name.
        key: Key,
        /// What [`Observed`](crate::observed::Observed) keeps of it; none for a kind that we do not write.
        live: Option<Live>,
        /// The object, for the snapshot, without `managedFields`. None where it is no input (any more):
        /// [`Watched::input_of`].
        input: Option<Value>,
    },
    /// An object is gone.
    Deleted {
        /// Its kind.
        kind: Watched,
        /// Its namespace and name.
        key: Key,
        /// The version of the deletion, if it was seen.
        version: Option<u64>,
    },
    /// A list of all objects of a kind begins. It is believed whatever its versions are: an API server that was restored
    /// from a backup goes back to lower ones.
    Listing {
        /// The kind.
        kind: Watched,
    },
    /// All objects of a kind are told, and what was told before and is gone is told, too. Of the registry's kinds, this
    /// follows each [`WatchEvent::Failed`] once all is well again.
    Synced {
        /// The kind.
        kind: Watched,
    },
    /// A kind is not installed, so that nobody can know its objects; those that were told before are told to be gone. Of the
    /// registry's kinds only of those that it may lack.
    NotInstalled {
        /// The kind.
        kind: Watched,
    },
    /// A kind cannot be watched at the moment. What is known of it stays.
    Failed {
        /// The kind.
        kind: Watched,
        /// Why.
        error: String,
    },
    /// Which version the objects of the Multi-Cluster Services API that follow have.
    McsVersion(McsVersion),
}

/// What is known of the filter's module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModuleVerdict {
    /// It was not fetched yet.
    #[default]
    Unchecked,
    /// It can be fetched and is the filter.
    Sound,
    /// It cannot be fetched, and why. Gateways may have it, or may reach what we do not.
    NotFetched(String),
    /// It is not the filter, or one that reads another wire version: why.
    Unsound(String),
}

/// What is to be done at the edge. Each of these is answered, but for [`Command::Touch`], [`Command::OpenGate`] and
/// [`Command::Tell`].
#[derive(Debug)]
pub enum Command {
    /// Apply an object: to the one of ours with this uid, or else create it. Answered by [`Answer::Applied`].
    Apply {
        /// The object.
        object: Object,
        /// The digest of it.
        desired: Digest,
        /// The uid of what is there.
        uid: Option<Box<str>>,
    },
    /// Delete an object of ours, if it still is. Answered by [`Answer::Deleted`].
    Delete {
        /// Which.
        id: ObjectId,
        /// What is there of it.
        live: Live,
    },
    /// Read an object. Answered by [`Answer::Read`].
    Read {
        /// Which.
        id: ObjectId,
    },
    /// Change nothing of an object that anybody reads, so that those who watch it look again.
    Touch {
        /// Which.
        id: ObjectId,
    },
    /// Ask gateway pods what they do. Answered by [`Answer::Asked`].
    Ask {
        /// Their namespace.
        namespace: Arc<str>,
        /// The pods.
        pods: Vec<GatewayPod>,
    },
    /// Write a status. Answered by [`Answer::StatusWritten`].
    WriteStatus {
        /// The status.
        patch: StatusPatch,
    },
    /// Tell a pod that it takes requests, whoever leads.
    OpenGate {
        /// What it is told.
        patch: StatusPatch,
    },
    /// Tell people of the news in a status that was written, or of what is to come.
    Tell {
        /// The status; without a body where there is only news.
        patch: StatusPatch,
    },
}

/// What became of a command.
#[derive(Debug)]
pub enum Answer {
    /// Of [`Command::Apply`].
    Applied {
        /// Which object.
        id: ObjectId,
        /// The digest of what was sent.
        desired: Digest,
        /// What is there now, or why not.
        result: Result<Live, ApplyError>,
    },
    /// Of [`Command::Delete`].
    Deleted {
        /// Which object.
        id: ObjectId,
        /// Whether it is gone, or about to go.
        result: Result<(), WriteError>,
    },
    /// Of [`Command::Read`].
    Read {
        /// Which object.
        id: ObjectId,
        /// What is there.
        result: Result<Option<Value>, WriteError>,
    },
    /// Of [`Command::Ask`].
    Asked {
        /// The namespace of the pods.
        namespace: Arc<str>,
        /// What each said; none: it could not be asked, which says nothing of its health.
        reports: Vec<(GatewayPod, Option<GatewayReport>)>,
    },
    /// Of [`Command::WriteStatus`].
    StatusWritten {
        /// The status.
        patch: StatusPatch,
        /// Whether it was written. That the object is gone is no error.
        result: Result<(), WriteError>,
    },
}

/// Why an object was not applied.
#[derive(Debug)]
pub enum ApplyError {
    /// Something else is there than the request was meant for: this.
    Found(Option<Live>),
    /// Another reason.
    Failed(WriteError),
}

/// A pod of an egress gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPod {
    /// Its namespace, which is that of its imports.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Where it listens.
    pub address: IpAddr,
    /// Whether it takes new connections. One that does not goes on with those that it has.
    pub is_ready: bool,
}

/// What a gateway pod says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayReport {
    /// The revision of the filter's configuration in force; none before the filter was ever loaded.
    pub revision: Option<u64>,
    /// How often since its start the agent could not get a module.
    pub module_failures: u64,
    /// The paths over the WAN that it measures, at most [`limits::PATHS`](mcwan_policy::limits::PATHS).
    pub paths: Vec<(PathName, Shown)>,
}
