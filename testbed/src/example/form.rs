//! `requests.yaml` as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{Case, Destination, End, Expected, ExpectedAnswer, Header, Upstream};
use crate::client::Request;

/// Reads a whole file.
pub(super) fn parse(yaml: &str) -> Result<Vec<Case>> {
    let entries: Vec<Entry> = serde_saphyr::from_str(yaml)?;
    let mut names = BTreeSet::new();
    entries
        .into_iter()
        .map(|entry| {
            let name = entry.name.clone();
            ensure!(names.insert(name.clone()), "two requests are named `{name}`");
            entry.case().with_context(|| format!("request `{name}`"))
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    name: String,
    request: RequestForm,
    #[serde(default = "once")]
    repeat: NonZeroU32,
    expect: ExpectForm,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestForm {
    #[serde(default = "get")]
    method: String,
    host: String,
    path: String,
    #[serde(default)]
    headers: Vec<HeaderForm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeaderForm {
    name: String,
    value: String,
}

/// Exactly one of the first four says where the request ends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExpectForm {
    tier: Option<String>,
    service: Option<String>,
    split: Option<BTreeMap<String, NonZeroU32>>,
    status: Option<u16>,
    rule: Option<usize>,
    authority: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: Vec<HeaderForm>,
    #[serde(default)]
    absent_headers: Vec<String>,
    #[serde(default)]
    response_headers: Vec<HeaderForm>,
    reason: Option<String>,
    location: Option<String>,
}

impl Entry {
    fn case(self) -> Result<Case> {
        let Self { name, request: RequestForm { method, host, path, headers }, repeat, expect } = self;
        let headers = headers.into_iter().map(|line| (line.name, line.value.into_bytes())).collect();
        let request = Request { method, host: Some(host.into_bytes()), path, headers };
        Ok(Case { name, request, repeat, expected: expect.expected()? })
    }
}

impl ExpectForm {
    fn expected(self) -> Result<Expected> {
        let Self { tier, service, split, status, rule, authority, path, .. } = self;
        let headers = lines(self.headers);
        let absent_headers: Vec<_> = self.absent_headers.iter().map(|name| name.to_ascii_lowercase()).collect();
        let says_upstream = authority.is_some() || path.is_some() || !headers.is_empty() || !absent_headers.is_empty();
        let says_answer = self.reason.is_some() || self.location.is_some();
        let upstream = |shares| {
            ensure!(!says_answer, "`reason` and `location` go with `status`");
            Ok(End::Upstream(Upstream { shares, authority, path, headers, absent_headers }))
        };
        let end = match (tier, service, split, status) {
            (Some(tier), None, None, None) => upstream(all_at(Destination::Tier(tier)))?,
            (None, Some(service), None, None) => upstream(all_at(parse_service(&service)?))?,
            (None, None, Some(split), None) => {
                ensure!(split.len() > 1, "`split` needs two tiers or more");
                upstream(split.into_iter().map(|(tier, share)| (Destination::Tier(tier), share)).collect())?
            }
            (None, None, None, Some(status)) => {
                ensure!(!says_upstream, "`status` says that the request does not arrive");
                End::Answer(ExpectedAnswer { status, reason: self.reason, location: self.location })
            }
            _ => bail!("`expect` needs exactly one of `tier`, `service`, `split` and `status`"),
        };
        Ok(Expected { rule, response_headers: lines(self.response_headers), end })
    }
}

fn all_at(destination: Destination) -> BTreeMap<Destination, NonZeroU32> {
    BTreeMap::from([(destination, once())])
}

fn parse_service(text: &str) -> Result<Destination> {
    let (namespace, name) = text.split_once('/').with_context(|| format!("`{text}` is not NAMESPACE/NAME"))?;
    Ok(Destination::Service { namespace: namespace.to_owned(), name: name.to_owned() })
}

fn lines(lines: Vec<HeaderForm>) -> Vec<Header> {
    lines.into_iter().map(|line| Header { name: line.name.to_ascii_lowercase(), value: line.value }).collect()
}

fn get() -> String {
    "GET".to_owned()
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_entry(fields: &str) -> String {
        format!("- {{name: a, request: {{host: a, path: /}}, {fields}}}\n")
    }

    #[test]
    fn what_is_not_written_has_its_default() {
        let cases = parse(&mk_entry("expect: {tier: high}")).unwrap();
        let request =
            Request { method: "GET".to_owned(), host: Some(b"a".to_vec()), path: "/".to_owned(), headers: Vec::new() };
        let upstream = Upstream {
            shares: all_at(Destination::Tier("high".to_owned())),
            authority: None,
            path: None,
            headers: Vec::new(),
            absent_headers: Vec::new(),
        };
        let expected = Expected { rule: None, response_headers: Vec::new(), end: End::Upstream(upstream) };
        assert_eq!(cases, [Case { name: "a".to_owned(), request, repeat: once(), expected }]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let table = [
            (mk_entry("expect: {}"), "exactly one of", "no end"),
            (mk_entry("expect: {tier: high, status: 200}"), "exactly one of", "two ends"),
            (mk_entry("expect: {tier: high, reason: NoRuleMatched}"), "go with `status`", "a reason without a status"),
            (mk_entry("expect: {status: 403, path: /}"), "does not arrive", "a path that nobody sees"),
            (mk_entry("expect: {service: payment}"), "not NAMESPACE/NAME", "a service without a namespace"),
            (mk_entry("expect: {split: {high: 1}}"), "two tiers", "a split over one tier"),
            (mk_entry("expect: {split: {high: 1, low: 0}}"), "zero", "a share of nothing"),
            (mk_entry("expect: {tier: high, tear: 1}"), "unknown field", "an unknown field"),
            (mk_entry("repeat: 0, expect: {tier: high}"), "zero", "sent never"),
            (mk_entry("expect: {tier: high}").repeat(2), "two requests", "a name that is not unique"),
            (mk_entry("repeat: 1"), "missing field", "no expectation"),
        ];
        for (yaml, part, message) in table {
            let error = format!("{:#}", parse(&yaml).expect_err(message));
            assert!(error.contains(part), "{message}: {error}");
        }
    }
}
