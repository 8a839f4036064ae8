//! Without a filter, or with one that was handed nonsense, no request goes where it was not steered.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mcwan_testbed::client::Request;
use mcwan_testbed::example::Example;
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;
use mcwan_testbed::testbed::Testbed;
use mcwan_testbed::wait::until;
use serde_json::{Value, json};

/// The type of the filter's configuration in Envoy.
const WASM: &str = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";

/// The name that discovery knows the filter by.
const FILTER: &str = "mcwan";

const DEADLINE: Duration = Duration::from_secs(30);

fn setup() -> (Example, Setup) {
    let example = Example::load("payment").unwrap();
    let setup = Setup::of_example(&example, Mode::RouteHeader).unwrap();
    (example, setup)
}

/// The HTTP filters of the only listener.
fn filters(config: &mut Value) -> &mut Vec<Value> {
    let filters =
        config.pointer_mut("/static_resources/listeners/0/filter_chains/0/filters/0/typed_config/http_filters");
    filters.unwrap().as_array_mut().unwrap()
}

fn is_ours(filter: &Value) -> bool {
    filter["typed_config"]["@type"] == WASM
}

/// Takes the filter out of a configuration and has Envoy look for it in a file instead.
fn discover(config: &mut Value, file: &Path) -> Value {
    let source = json!({"path_config_source": {"path": file}, "resource_api_version": "V3"});
    let discovered = json!({"name": FILTER, "config_discovery": {"config_source": source, "type_urls": [WASM]}});
    let filter = filters(config).iter_mut().find(|filter| is_ours(filter)).unwrap();
    std::mem::replace(filter, discovered)["typed_config"].take()
}

/// Publishes a filter in place of the last one; Envoy looks when a file takes the other's place.
fn publish(file: &Path, filter: &Value, version: &str) {
    let kind = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
    let resource = json!({"@type": kind, "name": FILTER, "typed_config": filter});
    let next = file.with_extension("next");
    fs::write(&next, json!({"version_info": version, "resources": [resource]}).to_string()).unwrap();
    fs::rename(&next, file).unwrap();
}

/// The filter with another configuration of the rules.
fn with_rules(filter: &Value, rules: &str) -> Value {
    let mut filter = filter.clone();
    filter["config"]["configuration"]["value"] = json!(rules);
    filter
}

async fn assert_all_as_expected(testbed: &Testbed, example: &Example, when: &str) {
    for case in &example.cases {
        let performance = testbed.perform(case).await.unwrap();
        assert!(performance.faults.is_empty(), "{when}: {}: {:?}", case.name, performance.faults);
    }
}

fn mk_request(steering: &[&str]) -> Request {
    Request {
        method: "GET".to_owned(),
        host: Some(b"payment.secure.svc.cluster.local".to_vec()),
        path: "/payment".to_owned(),
        headers: steering.iter().map(|value| ("x-mcwan-target".to_owned(), value.as_bytes().to_vec())).collect(),
    }
}

#[tokio::test]
async fn with_no_filter_in_the_chain_a_client_cannot_steer() {
    let (_, mut setup) = setup();
    filters(&mut setup.config).retain(|filter| !is_ours(filter));
    let steering_value = setup.translation.imports[0].targets[0].steering_value();
    let testbed = setup.start().await.unwrap();
    let table: [&[&str]; 6] = [
        &[],
        &["sd-wan-priority-high"],
        &["sd-wan-priority-high", "sd-wan-priority-low"],
        &["sd-wan-priority-high."],
        &["payment-secure-sd-wan-priority-high"],
        &[""],
    ];
    for steering in table {
        let outcome = testbed.send(&mk_request(steering)).await.unwrap();
        assert_eq!((outcome.response.status, &outcome.arrival), (404, &None), "steered by {steering:?}");
    }
    assert_eq!(testbed.arrivals(), 0);
    // The routes are there: what the filter alone knows opens them.
    let outcome = testbed.send(&mk_request(&[&steering_value])).await.unwrap();
    assert!(outcome.arrival.is_some(), "steered as the filter would: {outcome:?}");
}

#[tokio::test]
async fn after_a_bad_update_the_old_rules_stay() {
    let (example, mut setup) = setup();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filter.json");
    let filter = discover(&mut setup.config, &file);
    publish(&file, &filter, "good");
    let revision = setup.plugin.table.revision();
    let testbed = setup.start().await.unwrap();
    assert_all_as_expected(&testbed, &example, "before any update").await;

    let stat = format!("extension_config_discovery.http_filter.{FILTER}.update_rejected");
    let table = [
        ("", "nothing"),
        ("{", "half a text"),
        ("[]", "not an object"),
        (r#"{"version": 99, "imports": []}"#, "an unknown version"),
        (r#"{"version": 1, "imports": [], "exports": []}"#, "an unknown field"),
    ];
    for (number, (rules, message)) in table.into_iter().enumerate() {
        let rejections = u64::try_from(number).unwrap() + 1;
        publish(&file, &with_rules(&filter, rules), message);
        // Requests go on while Envoy makes up its mind, and afterwards.
        until(DEADLINE, "the update is rejected", async || {
            assert_all_as_expected(&testbed, &example, message).await;
            Ok(testbed.envoy().stats(&stat).await?.values().sum::<u64>() == rejections)
        })
        .await
        .unwrap_or_else(|error| panic!("{message}: {error}"));
        assert_all_as_expected(&testbed, &example, message).await;
    }

    let stats = testbed.envoy().stats("mcwan.config").await.unwrap();
    let said = ["revision", "rejected"].map(|what| stats.get(&format!("wasmcustom.mcwan.config.{what}")).copied());
    assert_eq!(said, [revision, u64::try_from(table.len()).ok()], "{stats:?}");

    publish(&file, &with_rules(&filter, r#"{"version": 1, "imports": []}"#), "good again");
    until(
        DEADLINE,
        "a good update is taken",
        async || Ok(testbed.send(&mk_request(&[])).await?.response.status == 404),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn with_a_bad_first_config_every_request_is_refused() {
    let (_, mut setup) = setup();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filter.json");
    let filter = discover(&mut setup.config, &file);
    publish(&file, &with_rules(&filter, "{"), "bad");
    let testbed = setup.start().await.unwrap();
    for steering in [&[][..], &["sd-wan-priority-high"]] {
        let outcome = testbed.send(&mk_request(steering)).await.unwrap();
        assert_eq!((outcome.response.status, &outcome.arrival), (500, &None), "steered by {steering:?}");
    }
}
