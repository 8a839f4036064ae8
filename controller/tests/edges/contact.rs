//! A registry that is known not to answer keeps nobody waiting.

use std::net::Ipv4Addr;

use kube::{Client, Config};
use mcwan::apply::{Applier, Contact};
use mcwan::watch::Source;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::outcome::WriteError;
use mcwan_core::problem::Reason;
use mcwan_core::rollout::ApplyError;
use mcwan_core::snapshot::Key;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// An API server that takes connections and never answers, and a client of it.
async fn silent() -> (TcpListener, Client) {
    mcwan::module::use_ring();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let config = Config::new(format!("http://{address}").parse().expect("a URI"));
    (listener, Client::try_from(config).expect("a client"))
}

fn mk_cluster(name: &str) -> Object {
    let kind = Kind::WanCluster;
    let body = json!({"apiVersion": kind.api_version(), "kind": kind.name(),
        "metadata": {"name": name, "namespace": "mc-wan-registry"}, "spec": {}});
    Object { id: ObjectId { kind, key: Key::new("mc-wan-registry", name) }, body }
}

/// Why an object is not applied now.
async fn reason(applier: &Applier, object: Object) -> Reason {
    match applier.apply(object, None).await {
        Err(ApplyError::Failed(WriteError::Passing { reason, .. })) => reason,
        other => panic!("it is to be tried again, not {other:?}"),
    }
}

#[tokio::test]
async fn what_waits_for_the_registry_is_let_go_once_it_is_silent() {
    let (_listener, client) = silent().await;
    let source = Source::new(client.clone(), client, "own");
    let (_leading, is_leading) = watch::channel(true);
    let (sender, contact) = watch::channel(Contact::Answers);
    let applier = Applier::new(&source, is_leading).in_contact(contact);
    let (waits, ()) = tokio::join!(reason(&applier, mk_cluster("own")), async {
        sender.send_replace(Contact::Silent("no route".to_owned()));
    });
    assert_eq!(waits, Reason::RegistryUnreachable, "what was under way");
    assert_eq!(reason(&applier, mk_cluster("other")).await, Reason::RegistryUnreachable, "what comes then is not sent");
}
