//! Bodies that no buffer holds.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use anyhow::{Result, ensure};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::HOST;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::services::{LINE_MIRROR, connect, ensure_spoken};
use crate::scene::{HIGH, LOW, Scene};

const BYTES: u64 = 100_000_000;

/// What is sent again and again; its length has no factor in common with any buffer's.
const PERIOD: usize = 65_521;

pub(super) async fn long_bodies_cross_both_ways(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_MIRROR).await?;
    let (before, start) = (scene.wan.traffic(), Instant::now());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::post("/high").header(HOST, "line.talk:8080").body(Pattern::new())?;
    ensure_mirrored(sender.send_request(request).await?).await?;
    eprintln!("measured: {BYTES} bytes there and back by HTTP/1.1 in {:?}", start.elapsed());
    drop(sender);
    connection.await??;
    ensure_spoken(&scene.wan, &before, Some(HIGH.1), "a long body")
}

pub(super) async fn long_bodies_cross_both_ways_by_http_2(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_MIRROR).await?;
    let (before, start) = (scene.wan.traffic(), Instant::now());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::post("http://line.talk:8080/low").body(Pattern::new())?;
    ensure_mirrored(sender.send_request(request).await?).await?;
    eprintln!("measured: {BYTES} bytes there and back by HTTP/2 in {:?}", start.elapsed());
    drop(sender);
    connection.await??;
    ensure_spoken(&scene.wan, &before, Some(LOW.1), "a long body by HTTP/2")
}

/// An answer is what [`Pattern`] sent, to the last byte.
async fn ensure_mirrored(answer: Response<Incoming>) -> Result<()> {
    ensure!(answer.status() == 200, "a long body answers {}", answer.status());
    let (period, mut received) = (period(), 0);
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let mut rest = &*data;
        while !rest.is_empty() {
            let expected = &period[received % PERIOD..];
            let (piece, later) = rest.split_at(rest.len().min(expected.len()));
            ensure!(expected.starts_with(piece), "another byte comes after {received}");
            received += piece.len();
            rest = later;
        }
    }
    ensure!(u64::try_from(received)? == BYTES, "{received} bytes come back");
    Ok(())
}

/// So many bytes, made while they are sent.
struct Pattern {
    period: Bytes,
    left: u64,
}

impl Pattern {
    fn new() -> Self {
        Self { period: period(), left: BYTES }
    }
}

impl Body for Pattern {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let length = PERIOD.min(usize::try_from(self.left).unwrap_or(PERIOD));
        self.left -= u64::try_from(length).unwrap_or(self.left);
        Poll::Ready(Some(Ok(Frame::data(self.period.slice(..length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

fn period() -> Bytes {
    let mut random = fastrand::Rng::with_seed(1);
    std::iter::repeat_with(|| random.u8(..)).take(PERIOD).collect()
}
