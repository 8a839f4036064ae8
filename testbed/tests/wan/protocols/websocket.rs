//! WebSocket: connections that are upgraded.

use anyhow::{Context, Result, ensure};
use futures_util::{SinkExt, StreamExt};
use mcwan_testbed::echo::NAME_HEADER;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::services::{LINE_WEBSOCKET, connect, ensure_spoken};
use crate::scene::{HIGH, Scene};

/// Messages of these sizes: a frame of each form that the protocol has, and one that is many segments.
const SIZES: [usize; 5] = [0, 125, 126, 65_536, 3_000_000];

pub(super) async fn a_connection_is_upgraded(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_WEBSOCKET).await?;
    let before = scene.wan.traffic();
    let request = format!("ws://line.talk:{LINE_WEBSOCKET}/upgrade?now").into_client_request()?;
    let (mut socket, answer) = client_async(request, stream).await.context("the upgrade fails")?;
    ensure!(answer.status() == 101, "the upgrade answers {}", answer.status());
    let name = answer.headers().get(NAME_HEADER).context("the server does not say its name")?.to_str()?;
    ensure!(name.starts_with("cluster-1/talk/line-"), "{name} answers");
    for size in SIZES {
        for message in [Message::text("t".repeat(size)), Message::binary(vec![b'b'; size])] {
            socket.send(message.clone()).await?;
            let answer = socket.next().await.context("the connection ends")??;
            ensure!(answer == message, "a message of {size} bytes comes back as one of {}", answer.len());
        }
    }
    socket.send(Message::Ping("are you there".into())).await?;
    let answer = socket.next().await.context("the connection ends")??;
    ensure!(answer == Message::Pong("are you there".into()), "a ping is answered by {answer:?}");
    socket.close(None).await?;
    let end = socket.next().await.context("the closing is not answered")??;
    ensure!(end.is_close(), "the closing is answered by {end:?}");
    ensure_spoken(&scene.wan, &before, Some(HIGH.1), "a WebSocket")
}

pub(super) async fn an_upgrade_that_no_rule_matches_is_refused(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_WEBSOCKET).await?;
    let before = scene.wan.traffic();
    let request = format!("ws://line.talk:{LINE_WEBSOCKET}/elsewhere").into_client_request()?;
    let error = client_async(request, stream).await.err().context("it is upgraded")?;
    let Error::Http(answer) = error else { anyhow::bail!("it is not answered: {error}") };
    ensure!(answer.status() == 403, "it answers {}", answer.status());
    ensure_spoken(&scene.wan, &before, None, "an upgrade that no rule matches")
}
