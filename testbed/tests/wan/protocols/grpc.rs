//! A real gRPC client, and a real server in the other cluster.

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, stream};
use hyper_util::rt::TokioIo;
use mcwan_testbed::echo::NAME_HEADER;
use mcwan_testbed::upstream::FLAPPING;
use tokio::sync::mpsc;
use tonic::Code;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient as OldReflectionClient;
use tower::service_fn;

use super::services::{DESK_GRPC, LOST, NAMESPACE, connect, ensure_spoken, mk_lost};
use crate::objects::mk_file;
use crate::scene::{HIGH, LOW, Scene};

/// How many answers of a stream are waited for.
const TURNS: usize = 20;

pub(super) async fn unary_calls_take_their_tiers(scene: &Scene) -> Result<()> {
    let mut client = HealthClient::new(channel(scene).await?);
    for _ in 0..TURNS {
        let before = scene.wan.traffic();
        let answer = client.check(mk_check("")).await.context("a health check")?;
        ensure_answerer(answer.metadata())?;
        ensure!(answer.get_ref().status() == ServingStatus::Serving, "the check says {answer:?}");
        ensure_spoken(&scene.wan, &before, Some(HIGH.1), "a health check")?;
    }
    let error = client.check(mk_check("nobody")).await.err().context("the health of nobody is known")?;
    ensure!(error.code() == Code::NotFound, "the server's own status is {error:?} here");
    Ok(())
}

pub(super) async fn what_a_call_cannot_have_is_unavailable(scene: &Scene) -> Result<()> {
    scene.wan.cluster(2).apply(&mk_file(&[mk_lost()])).await?;
    let client = HealthClient::new(channel(scene).await?);
    let call = async || {
        let mut call = tonic::Request::new(mk_check(""));
        let (name, value) = LOST;
        call.metadata_mut().insert(name, value.parse()?);
        anyhow::Ok(client.clone().check(call).await.err().map(|error| error.code()))
    };
    scene.wan.until("the route holds", async || Ok(call().await? == Some(Code::Unavailable))).await?;
    let before = scene.wan.traffic();
    ensure!(call().await? == Some(Code::Unavailable), "it is not refused any more");
    ensure_spoken(&scene.wan, &before, None, "a call whose backend is not there")?;
    scene.wan.cluster(2).kubectl(&["delete", "grpcroute", "lost", "-n", NAMESPACE]).await?;
    scene.wan.until("the route holds no more", async || Ok(call().await?.is_none())).await
}

pub(super) async fn a_stream_of_answers_crosses(scene: &Scene) -> Result<()> {
    let mut client = HealthClient::new(channel(scene).await?);
    let before = scene.wan.traffic();
    let mut answers = client.watch(mk_check(FLAPPING)).await.context("a watch")?.into_inner();
    let mut seen = Vec::new();
    while seen.len() < TURNS {
        seen.push(answers.message().await?.context("the stream ends")?.status());
    }
    for status in [ServingStatus::Serving, ServingStatus::NotServing] {
        ensure!(seen.contains(&status), "{status:?} is not among {seen:?}");
    }
    ensure_spoken(&scene.wan, &before, Some(LOW.1), "a watch, which another rule matches than a check,")
}

pub(super) async fn streams_both_ways_take_turns(scene: &Scene) -> Result<()> {
    let mut client = ServerReflectionClient::new(channel(scene).await?);
    let before = scene.wan.traffic();
    let (requests, queue) = mpsc::channel(1);
    let queue = stream::unfold(queue, async |mut queue| Some((queue.recv().await?, queue)));
    let mut answers = client.server_reflection_info(queue.boxed()).await.context("reflection")?.into_inner();
    // Each is asked only after the one before is answered.
    for _ in 0..TURNS {
        requests.send(mk_question(MessageRequest::ListServices(String::new()))).await?;
        let answer = answers.message().await?.context("the stream ends")?.message_response;
        let Some(MessageResponse::ListServicesResponse(services)) = answer else {
            anyhow::bail!("the list of services is {answer:?}");
        };
        let service = services.service.first().context("there is no service")?.name.clone();
        requests.send(mk_question(MessageRequest::FileContainingSymbol(service))).await?;
        let answer = answers.message().await?.context("the stream ends")?.message_response;
        ensure!(matches!(answer, Some(MessageResponse::FileDescriptorResponse(_))), "a service's file is {answer:?}");
    }
    drop(requests);
    ensure!(answers.message().await?.is_none(), "the stream does not end with its requests");
    ensure_spoken(&scene.wan, &before, Some(LOW.1), "reflection")
}

pub(super) async fn calls_that_no_rule_matches_are_refused(scene: &Scene) -> Result<()> {
    let mut client = OldReflectionClient::new(channel(scene).await?);
    let before = scene.wan.traffic();
    let error = client.server_reflection_info(stream::empty()).await.err().context("it is answered")?;
    ensure!(error.code() == Code::PermissionDenied, "it is refused as {error:?}");
    ensure_spoken(&scene.wan, &before, None, "a call that no rule matches")
}

/// A channel to the egress gateway.
async fn channel(scene: &Scene) -> Result<Channel> {
    let stream = connect(scene, "desk", DESK_GRPC).await?;
    let mut stream = Some(TokioIo::new(stream));
    let connector = service_fn(move |_| {
        let stream = stream.take().context("the connection was closed");
        async { stream }
    });
    let endpoint = Endpoint::try_from(format!("http://desk.talk:{DESK_GRPC}"))?;
    Ok(endpoint.connect_with_connector(connector).await?)
}

fn ensure_answerer(metadata: &MetadataMap) -> Result<()> {
    let name = metadata.get(NAME_HEADER).context("the server does not say its name")?.to_str()?;
    ensure!(name.starts_with("cluster-1/talk/desk-"), "{name} answers");
    Ok(())
}

fn mk_check(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

fn mk_question(question: MessageRequest) -> ServerReflectionRequest {
    ServerReflectionRequest { host: String::new(), message_request: Some(question) }
}
