//! The command as a person runs it: arguments and files in, text and exit status out.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// What a command printed, and its exit status.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

/// Runs `mcwan` with something on its standard input.
pub(crate) fn mcwan(arguments: &[&str], stdin: &str) -> Result<Ran> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcwan"));
    command.args(arguments).env_remove("MCWAN_STEERING_KEY");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // A command that stops at its arguments does not read its input.
    let _ = child.stdin.take().map(|mut input| input.write_all(stdin.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output()?;
    Ok(Ran { status: status.code(), out: String::from_utf8(stdout)?, log: String::from_utf8(stderr)? })
}

pub(crate) fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    examples.join(name).join("manifests.yaml").display().to_string()
}

/// A tier, another cluster's export of `payment.secure`, and an import with these rules.
fn mk_manifests(rules: &str) -> String {
    let head = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";
    format!(
        "{head} WANPolicy\nmetadata: {{name: high}}\nspec: {{port: 31111}}\n---\n\
         {head} WANCluster\nmetadata: {{name: c1, namespace: registry}}\nspec: {{tiers: [{{name: high, port: 31111}}]}}\n---\n\
         {head} ExportedService\nmetadata: {{name: c1.secure.payment, namespace: registry}}\n\
         spec: {{cluster: c1, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', \
         ports: [{{port: 8080}}], gateways: [10.20.0.7]}}\n---\n\
         {head} ServiceImport\nmetadata: {{name: payment, namespace: secure}}\n\
         spec:\n  http:\n    rules:\n{rules}"
    )
}

const TO_HIGH: &str = "backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]";

#[test]
fn a_reader_who_has_seen_enough_is_no_success() -> Result {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcwan"));
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let status = command.args(["validate", &example("payment")]).stdout(writer).status()?;
    assert_eq!(status.code(), Some(141), "as of a program that SIGPIPE ends");
    Ok(())
}

#[test]
fn a_kubeconfig_that_is_broken_leads_to_no_other_cluster() -> Result {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kubeconfig");
    fs::write(&file, "{")?;
    for (variable, complaint) in [
        (file.as_os_str(), "the kubeconfig cannot be used"),
        (folder.path().join("missing").as_os_str(), "there is no cluster to ask: give --kubeconfig or set KUBECONFIG"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcwan"));
        // Inside a pod there would be another one to ask.
        command.env("KUBECONFIG", variable).env_remove("KUBERNETES_SERVICE_HOST");
        let Output { status, stderr, .. } = command.args(["registry", "init"]).output()?;
        let log = String::from_utf8(stderr)?;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains(complaint), "{log}");
    }
    Ok(())
}

#[test]
fn the_examples_are_valid() -> Result {
    for name in ["payment", "routes", "canary", "split", "rewrite", "export", "sla"] {
        let ran = mcwan(&["validate", &example(name)], "")?;
        assert_eq!((ran.status, ran.out.as_str()), (Some(0), "all is well\n"), "{name}");
    }
    Ok(())
}

#[test]
fn options_that_mean_nothing_are_refused_before_anything_is_asked() -> Result {
    let table: [(&[&str], &str); 5] = [
        (&["--cluster-id", "A.b"], "--cluster-id A.b is no DNS label"),
        (&["--network", "a/b"], "--network a/b is no DNS label"),
        (&["--cable-drivers", "vxlan,vxlan"], "--cable-drivers: each only once"),
        (&["--route-domain", "*.example"], "--route-domain *.example is no DNS name"),
        (&["--route-certificate", "a_b"], "--route-certificate: no Secret can be called a_b"),
    ];
    for (options, message) in table {
        let named = if options[0] == "--cluster-id" { &[][..] } else { &["--cluster-id", "a"] };
        let module = format!("oci://127.0.0.1/module@sha256:{}", "0".repeat(64));
        let all = [&["controller", "--module", &module], named, options].concat();
        let ran = mcwan(&all, "")?;
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{options:?}: {}", ran.log);
        assert!(ran.log.contains(message), "{options:?}: {}", ran.log);
    }
    Ok(())
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_a_hint() -> Result {
    let seed = "kind: ServiceImport\nspec:\n  backendRefs:\n     -name: x\n      namespace: mc-wan\n";
    let table = [
        (seed.to_owned(), "<stdin>:4: error: `-name:` has no space", "hint: write `- name:`"),
        (
            mk_manifests("    - match: []\n"),
            "<stdin>:22: error: ServiceImport secure/payment: spec.http.rules[0].match: unknown field `match` (UnknownField)",
            "hint: did you mean `matches`?",
        ),
        (
            mk_manifests("    - backendRefs: [{name: nosuch, port: 1}]\n"),
            "<stdin>:22: error: ServiceImport secure/payment: spec.http.rules[0].backendRefs[0]: ",
            "(BackendNotFound)",
        ),
        (
            mk_manifests("    - matches: [{path: {type: RegularExpression, value: '('}}]\n"),
            "<stdin>:22: error: ServiceImport secure/payment: spec.http.rules[0].matches[0]: ",
            "(InvalidMatch)",
        ),
        (
            format!(
                "{{apiVersion: mc-wan.l7mp.io/v1alpha1, kind: WANPolicy, metadata: {{name: older}}, spec: {{port: 31111}}}}\n---\n{}",
                mk_manifests("    []\n")
            ),
            "<stdin>:6: error: WANPolicy high: spec.port: port 31111 is already WANPolicy older's (PortConflict)",
            "hint: give every tier a port of its own",
        ),
        (
            mk_manifests("    []\n").replace("v1alpha1\nkind: WANPolicy", "v1\nkind: WANPolicy"),
            "<stdin>:1: error: there is no WANPolicy in mc-wan.l7mp.io/v1 (UnknownKind)",
            "hint: write `apiVersion: mc-wan.l7mp.io/v1alpha1` and `kind: WANPolicy`",
        ),
    ];
    for (manifests, place, text) in table {
        let ran = mcwan(&["validate", "-"], &manifests)?;
        assert_eq!(ran.status, Some(1), "{place}: {ran:?}");
        assert!(ran.out.contains(place) && ran.out.contains(text), "{place} … {text}: {}", ran.out);
        assert!(!ran.out.contains('\u{1b}'), "no colour but on a terminal");
    }
    Ok(())
}

#[test]
fn a_warning_alone_is_no_error() -> Result {
    let ran = mcwan(&["validate", "-"], "apiVersion: apps/v1\nkind: Deployment\n")?;
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.ends_with("0 errors, 1 warning\n"), "{}", ran.out);
    Ok(())
}

#[test]
fn what_is_wrong_can_be_had_as_json() -> Result {
    let ran = mcwan(&["validate", "-o", "json", "-"], &mk_manifests("    - match: []\n"))?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.out)?;
    assert_eq!(answer["ok"], false);
    let problem = &answer["problems"][0];
    assert_eq!(problem["line"], 22);
    assert_eq!(problem["field"], "spec.http.rules[0].match");
    assert_eq!(problem["reason"], "UnknownField");
    Ok(())
}

#[test]
fn files_are_read_as_kubectl_reads_them() -> Result {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, bytes: &[u8]| -> Result<PathBuf> {
        let path = folder.path().join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    };
    let policy = |name: &str, port| {
        format!(
            r#"{{"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy", "metadata": {{"name": "{name}"}}, "spec": {{"port": {port}}}}}"#
        )
    };
    file("a.yaml", policy("a", 1).as_bytes())?;
    file("b.json", policy("b", 2).as_bytes())?;
    file("c.txt", b"not read")?;
    let path = folder.path().display().to_string();
    let ran = mcwan(&["validate", &path, &format!("{path}/a.yaml")], "")?;
    assert_eq!(ran.status, Some(0), "a folder, and a file of it once more: {ran:?}");

    let table = [
        (file("latin.yaml", b"a: 1\nb: \xff\n")?, "latin.yaml:2: error: the file is not UTF-8 (NotUtf8)"),
        (file("empty.yaml", b"")?, "empty.yaml: warning: the file holds no object (Empty)"),
        (folder.path().join("nosuch.yaml"), "nosuch.yaml: error: "),
        (tempfile::tempdir_in(&folder)?.keep(), ": error: the folder has no .yaml, .yml or .json file (Unreadable)"),
    ];
    for (path, expected) in table {
        let ran = mcwan(&["validate", &path.display().to_string()], "")?;
        assert!(ran.out.contains(expected), "{expected}: {ran:?}");
        assert_eq!(ran.status == Some(0), expected.contains("warning"), "{expected}: {ran:?}");
    }
    Ok(())
}

#[test]
fn render_prints_the_config_alone() -> Result {
    let ran = mcwan(&["render", &example("payment"), "--to", "envoy", "--module", "/m.wasm"], "")?;
    assert_eq!((ran.status, ran.log.as_str()), (Some(0), ""));
    let config: Value = serde_json::from_str(&ran.out)?;
    assert_eq!(config["static_resources"]["listeners"][0]["address"]["socket_address"]["port_value"], 8080);
    assert!(ran.out.contains("\"/m.wasm\""), "{}", ran.out);
    Ok(())
}

#[test]
fn render_does_what_can_be_done_and_says_what_cannot() -> Result {
    let rules = format!("    - backendRefs: [{{name: nosuch, port: 1}}]\n    - {TO_HIGH}\n");
    let ran = mcwan(&["render", "-", "--to", "envoy"], &mk_manifests(&rules))?;
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.log.contains("spec.http.rules[0].backendRefs[0]"), "{}", ran.log);
    serde_json::from_str::<Value>(&ran.out)?;
    Ok(())
}

#[test]
fn render_prints_nothing_where_an_object_is_missing() -> Result {
    let ran = mcwan(&["render", "-", "--to", "envoy"], &mk_manifests("    - match: []\n"))?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.log.contains("UnknownField") && ran.log.contains("nothing is rendered"), "{}", ran.log);
    Ok(())
}

#[test]
fn render_prints_the_objects_of_a_cluster() -> Result {
    let payment = example("payment");
    let render = |more: &[&str]| {
        let arguments = ["render", &payment, "--to", "kubernetes", "--module", "oci://example.com/filter@sha256:00"];
        mcwan(&[&arguments, more].concat(), "")
    };
    let kinds = |out: &str| -> Vec<String> {
        let documents =
            out.split("---\n").filter_map(|document| document.lines().find_map(|line| line.strip_prefix("kind: ")));
        documents.map(str::to_owned).collect()
    };
    let wasm = render(&[])?;
    assert_eq!(wasm.status, Some(0), "{wasm:?}");
    let named: Vec<_> =
        kinds(&wasm.out).into_iter().filter(|kind| ["WasmPlugin", "Gateway", "HTTPRoute"].contains(&&**kind)).collect();
    assert_eq!(named, ["WasmPlugin", "Gateway", "HTTPRoute"], "in the order of creation");
    let native = render(&["--data-plane", "native", "--cluster", "cluster-2"])?;
    assert!(!kinds(&native.out).iter().any(|kind| kind == "WasmPlugin"), "{}", native.out);
    assert!(native.out.contains("kind: WANCluster\nmetadata:\n  name: cluster-2\n"), "{}", native.out);
    assert!(native.log.contains("UnsupportedStatus"), "{}", native.log);
    Ok(())
}

#[test]
fn a_steering_key_makes_the_config_repeatable() -> Result {
    let render = |key: Option<&str>| {
        let key = key.map(|key| format!("--steering-key={key}"));
        let payment = example("payment");
        let arguments: Vec<&str> = ["render", &payment, "--to", "envoy"].into_iter().chain(key.as_deref()).collect();
        mcwan(&arguments, "").map(|ran| ran.out)
    };
    let key = "0123456789abcdef";
    assert_eq!(render(Some(key))?, render(Some(key))?, "the same key");
    assert_ne!(render(None)?, render(None)?, "keys that are drawn");
    let ran = mcwan(&["render", &example("payment"), "--to", "envoy", "--steering-key", "short"], "")?;
    assert_eq!(ran.status, Some(2), "a key that could be guessed: {ran:?}");
    Ok(())
}

#[test]
fn an_import_over_a_bound_is_refused_alone() -> Result {
    let rule = |number| {
        format!("    - matches: [{{path: {{type: RegularExpression, value: /r{number}}}}}]\n      {TO_HIGH}\n")
    };
    let neighbour = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ServiceImport\n\
                     metadata: {name: stats, namespace: secure}\nspec: {http: {rules: []}}\n";
    let manifests = format!("{}---\n{neighbour}", mk_manifests(&(0..4_097).map(rule).collect::<String>()));
    for (host, answer) in [("payment.secure", "x-mcwan-reason: TooLarge"), ("stats.secure", "reason: NoRuleMatched")] {
        let ran = mcwan(&["explain", "-", "--host", host, "--path", "/r1"], &manifests)?;
        assert!(ran.status == Some(0) && ran.out.contains(answer), "{host}: {ran:?}");
        assert!(ran.log.contains("ServiceImport secure/payment") && ran.log.contains("(TooLarge)"), "{}", ran.log);
    }
    let table = [
        ("wasm", "\\\"name\\\":\\\"stats\\\"", "the filter has the neighbour"),
        ("native", "\"value\": \"TooLarge\"", "a plain route answers so"),
    ];
    for (data_plane, text, message) in table {
        let ran = mcwan(&["render", "-", "--to", "envoy", "--data-plane", data_plane], &manifests)?;
        assert_eq!(ran.status, Some(1), "{message}: {}", ran.log);
        assert!(ran.out.contains(text), "{message}: {}", ran.out);
    }
    Ok(())
}

/// A file has room for a config that an object of the API server has not.
#[test]
fn what_fits_no_object_of_the_api_server_is_refused_where_that_carries_it() -> Result {
    let filler = "a".repeat(500);
    let rule = |number| format!("    - matches: [{{path: {{value: /{number}-{filler}}}}}]\n      {TO_HIGH}\n");
    let manifests = mk_manifests(&(0..2_200).map(rule).collect::<String>());
    let path = format!("/7-{filler}");
    let explained = mcwan(&["explain", "-", "--host", "payment.secure", "--path", &path], &manifests)?;
    assert!(explained.out.contains("x-mcwan-reason: TooLarge"), "{} {}", explained.out, explained.log);
    let ran = mcwan(&["validate", "-"], &manifests)?;
    assert!(ran.status == Some(1) && ran.out.contains("(TooLarge)"), "{} {}", ran.out, ran.log);
    let ran = mcwan(&["render", "-", "--to", "envoy"], &manifests)?;
    assert!(ran.status == Some(0) && ran.out.contains(&path), "{}", ran.log);
    Ok(())
}

/// What clients of a namespace see of another one's import is their gateway's.
#[test]
fn a_gateway_answers_for_its_own_namespace() -> Result {
    let consumer = "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: buy, namespace: shop}\n\
         spec:\n  parentRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment, namespace: secure}]\n  \
         rules: [{matches: [{path: {value: /buy}}], backendRefs: [{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}]}]\n---\n\
         apiVersion: gateway.networking.k8s.io/v1\nkind: ReferenceGrant\nmetadata: {name: shop, namespace: secure}\n\
         spec:\n  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}]\n  \
         to: [{group: multicluster.x-k8s.io, kind: ServiceImport}]\n";
    let manifests = mk_manifests("      []") + consumer;
    let table: [(&[&str], &str); 3] = [
        (&["--gateway", "shop"], "written in HTTPRoute shop/buy, spec.rules[0]"),
        (&["--gateway", "secure"], "answer     403"),
        (&[], "answer     403"),
    ];
    for (gateway, expected) in table {
        let request = ["explain", "-", "--host", "payment.secure", "--path", "/buy"];
        let ran = mcwan(&[&request, gateway].concat(), &manifests)?;
        assert_eq!(ran.status, Some(0), "{gateway:?}: {}", ran.log);
        assert!(ran.out.contains(expected), "{gateway:?}: {}", ran.out);
        let ran = mcwan(&[&["render", "-", "--to", "envoy"], gateway].concat(), &manifests)?;
        assert_eq!(ran.status, Some(0), "{gateway:?}: {}", ran.log);
        assert_eq!(ran.out.contains("/buy"), *gateway == ["--gateway", "shop"], "{gateway:?}: {}", ran.out);
    }
    Ok(())
}

#[test]
fn wrong_usage_has_a_status_of_its_own() -> Result {
    let payment = example("payment");
    let table: [&[&str]; 9] = [
        &[],
        &["nosuch"],
        &["validate"],
        &["render", &payment],
        &["render", &payment, "--to", "kubernetes"],
        &["render", &payment, "--to", "kubernetes", "--module", "oci://a", "--steering", "cluster-header"],
        &["explain", &payment],
        &["explain", &payment, "--host", "a", "-H", "no colon"],
        &["explain", &payment, "--host", "a", "--requests", "b"],
    ];
    for arguments in table {
        let ran = mcwan(arguments, "")?;
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
    }
    Ok(())
}

#[test]
fn help_teaches_with_examples() -> Result {
    for command in ["validate", "render", "explain", "clusters", "completions"] {
        let ran = mcwan(&[command, "--help"], "")?;
        assert_eq!(ran.status, Some(0), "{command}");
        assert!(ran.out.contains("Examples:\n  ") && ran.out.contains(&format!("mcwan {command}")), "{}", ran.out);
    }
    Ok(())
}

#[test]
fn every_shell_has_completions() -> Result {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = mcwan(&["completions", shell], "")?;
        assert_eq!(ran.status, Some(0), "{shell}");
        assert!(ran.out.contains("explain"), "{shell}: {}", ran.out);
    }
    Ok(())
}
