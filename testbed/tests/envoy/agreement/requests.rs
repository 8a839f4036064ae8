//! Requests near what an import asks for.

use mcwan_core::api::{HttpMatch, PathMatchType, ServiceImport, ValueMatchType};
use mcwan_policy::standard_hosts;
use mcwan_testbed::client::Request;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::words;

/// Headers that no rule looks at: mcwan's own among them, which no client may set, and Envoy's, which it
/// takes from no client.
const OTHER_HEADERS: [(&str, &str); 8] = [
    ("x-mcwan-target", "sd-wan-priority-high"),
    ("X-Mcwan-Target", "sd-wan-priority-low"),
    ("x-mcwan-port", "1"),
    ("x-mcwan-other", "caf\u{e9}"),
    ("cookie", "a=b; c=d"),
    ("user-agent", "curl/8"),
    ("x-envoy-upstream-rq-timeout-ms", "1"),
    ("x-envoy-original-path", "/b"),
];

/// A request near some match of some rule.
pub(crate) fn request(import: &ServiceImport) -> impl Strategy<Value = Request> {
    let rules = import.spec.http.iter().flat_map(|http| &http.rules).flatten();
    let mut models: Vec<_> = rules.flat_map(|rule| &rule.matches).cloned().collect();
    models.push(HttpMatch::default());
    let host = host(import);
    select(models).prop_flat_map(move |model| {
        (host.clone(), method(&model), path(&model), query(&model), headers(&model)).prop_map(
            |(host, method, path, query, headers)| Request {
                method,
                host: Some(host.into_bytes()),
                path: path + &query,
                headers: headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect(),
            },
        )
    })
}

fn host(import: &ServiceImport) -> impl Strategy<Value = String> + Clone + use<> {
    let name = import.metadata.name.as_deref().unwrap_or_default();
    let namespace = import.metadata.namespace.as_deref().unwrap_or_default();
    let mut hosts = standard_hosts(namespace, name);
    let bare = hosts.extract_if(.., |host| !host.contains('.')).collect::<Vec<_>>();
    for hostname in &import.spec.hostnames {
        match hostname.strip_prefix('*') {
            Some(suffix) => hosts.extend([format!("x{suffix}"), format!("x.y{suffix}")]),
            None => hosts.push(hostname.clone()),
        }
    }
    let others = vec![
        format!("x{name}.{namespace}"),
        format!("{name}.{namespace}.svc.example.com"),
        "example.com".to_owned(),
        "pay.example.com".to_owned(),
        "a.pay.example.com".to_owned(),
    ];
    let host = prop_oneof![20 => select(hosts), 1 => select(bare), 1 => select(others)];
    let form = select(&["", "", "", ":8080", ":1", ".", ".:8080"][..]);
    (host, form, prop::bool::weighted(0.1)).prop_map(|(host, form, upper)| {
        let host = if upper { host.to_ascii_uppercase() } else { host };
        host + form
    })
}

fn method(model: &HttpMatch) -> impl Strategy<Value = String> + use<> {
    let asked = model.method.map(|method| serde_json::to_value(method).unwrap().as_str().unwrap().to_owned());
    let any = prop_oneof![4 => words::method(), 1 => Just("PURGE")].prop_map(str::to_owned);
    match asked {
        Some(asked) => prop_oneof![6 => Just(asked), 1 => any].boxed(),
        None => prop_oneof![2 => Just("GET".to_owned()), 1 => any].boxed(),
    }
}

fn path(model: &HttpMatch) -> impl Strategy<Value = String> + use<> {
    let double = words::path().prop_map(|path| path.replacen('/', "//", 1));
    let escaped = words::path().prop_map(|path| path + "%2Fa");
    let any = prop_oneof![6 => words::path(), 1 => double, 1 => escaped];
    let asked = model.path.as_ref().filter(|path| path.r#type != PathMatchType::RegularExpression);
    match asked {
        None => any.boxed(),
        Some(asked) => {
            let exact = asked.value.clone();
            let trimmed = exact.strip_suffix('/').unwrap_or(&exact);
            let mut near = vec![exact.clone()];
            near.extend(["/", "/b", "/a/", "//"].map(|end| format!("{trimmed}{end}")));
            if !trimmed.is_empty() {
                near.extend([trimmed.to_owned(), format!("{trimmed}b"), trimmed.to_ascii_uppercase()]);
            }
            prop_oneof![5 => Just(exact), 4 => select(near), 1 => any].boxed()
        }
    }
}

fn query(model: &HttpMatch) -> impl Strategy<Value = String> + use<> {
    let any = (words::query_name(), option::weighted(0.8, words::value())).prop_map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    });
    let any =
        prop_oneof![12 => any, 1 => Just(String::new()), 1 => Just("q=".to_owned()), 1 => Just("%71=1".to_owned())];
    let asked = model.query_params.iter().map(|param| {
        let name = param.name.clone();
        value(param.r#type, &param.value).prop_map(move |value| format!("{name}={value}"))
    });
    let asked = asked.collect::<Vec<_>>();
    let quiet = prop_oneof![6 => Just(Vec::new()), 1 => vec(any.clone(), 1..=2)];
    (vec(any, 0..=2), asked, quiet, prop::bool::weighted(0.8), prop::bool::weighted(0.05)).prop_map(
        |(before, asked, after, plain, bare)| {
            let before = if plain { Vec::new() } else { before };
            let parameters = [before, asked, after].concat();
            let mark = if bare || !parameters.is_empty() { "?" } else { "" };
            format!("{mark}{}", parameters.join("&"))
        },
    )
}

fn headers(model: &HttpMatch) -> impl Strategy<Value = Vec<(String, String)>> + use<> {
    let any = (words::header_name(), prop_oneof![8 => words::value(), 1 => Just("")])
        .prop_map(|(name, value)| (name.to_owned(), value.to_owned()));
    // Each once: Envoy joins the lines of headers that it knows by name.
    let others = subsequence(OTHER_HEADERS.to_vec(), 0..=2);
    let others = others.prop_map(|lines| lines.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    let others = prop_oneof![2 => Just(Vec::new()), 1 => others.prop_map(Vec::from_iter)];
    let asked = model.headers.iter().filter(|header| !header.name.eq_ignore_ascii_case("host")).map(|header| {
        let name = header.name.clone();
        value(header.r#type, &header.value).prop_map(move |value| (name.clone(), value))
    });
    let asked = asked.collect::<Vec<_>>();
    (vec(any, 0..=2), asked, others).prop_map(|(before, asked, others)| [before, asked, others].concat())
}

/// A value near the one that is asked for.
fn value(kind: ValueMatchType, asked: &str) -> impl Strategy<Value = String> + use<> {
    let any = words::value().prop_map(str::to_owned);
    match kind {
        ValueMatchType::Exact => prop_oneof![8 => Just(asked.to_owned()), 1 => any].boxed(),
        ValueMatchType::RegularExpression => any.boxed(),
    }
}
