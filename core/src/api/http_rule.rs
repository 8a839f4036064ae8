//! The rules of an `HTTPRoute` (Gateway API v1.5, standard channel), field for field; and `sla`, which only those of a
//! `ServiceImport` have.
//!
//! These types are ours because the generated ones have two families of everything, one for rules and
//! one for backends. `retry` and `sessionPersistence`, which only the experimental channel has, are
//! kept as they are, so that they can be refused by name.

use std::num::NonZeroU16;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Duration, HttpFilter, HttpMatch, RuleSla, cel};

/// One rule: where any of its matches holds, a request is filtered and sent to one of its backends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    cel::redirect_without_backends(),
    cel::prefix_where_matched("urlRewrite"),
    cel::prefix_where_matched("requestRedirect"),
]))]
pub struct HttpRule {
    /// A name for people, unique in its list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Alternatives. None: every request matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub matches: Vec<HttpMatch>,
    /// What is done with a request, or instead of sending it on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[schemars(extend("x-kubernetes-validations" = [
        cel::at_most_once("RequestHeaderModifier"),
        cel::at_most_once("ResponseHeaderModifier"),
        cel::at_most_once("RequestRedirect"),
        cel::at_most_once("URLRewrite"),
        cel::at_most_once("CORS"),
        cel::redirect_without_rewrite(),
    ]))]
    pub filters: Vec<HttpFilter>,
    /// Where requests go, by weight. None, and no redirect: 500.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub backend_refs: Vec<BackendRef>,
    /// How long a request may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// The tiers that requests may take in place of the backends' own, by measured quality. Absent: they never move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<RuleSla>,
    /// Retries (experimental channel).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub retry: Option<Value>,
    /// Session persistence (experimental channel).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub session_persistence: Option<Value>,
}

/// How long a request may take. Zero: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::attempt_within_request()]))]
pub struct Timeouts {
    /// From the client's request to the end of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Duration>,
    /// One attempt at a backend; at most `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_request: Option<Duration>,
}

/// A backend and its share of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::at_most_16_filters()]))]
pub struct BackendRef {
    /// API group of the backend; empty is the core group.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub group: String,
    /// Kind of the backend.
    #[serde(default = "service")]
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Name of the backend.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the backend. Absent: the import's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// Port of the Service. Absent: the port that the client used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
    /// Share of the requests, relative to the rule's other backends.
    #[serde(default = "one")]
    #[schemars(range(max = 1_000_000))]
    pub weight: u32,
    /// What is done with a request that goes here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<HttpFilter>,
}

pub(super) fn service() -> String {
    "Service".to_owned()
}

fn one() -> u32 {
    1
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

#[cfg(test)]
mod tests {
    use gateway_api::httproutes::HttpRouteRules;
    use serde_json::json;

    use super::*;

    /// A rule with every field of the standard channel, defaults included.
    fn mk_rule() -> Value {
        let header = json!({"name": "x-a", "value": "1"});
        let modifier = json!({"set": [header], "add": [header], "remove": ["x-b"]});
        let backend = json!({"group": "", "kind": "Service", "name": "b", "namespace": "ns", "port": 80});
        let mirror = |share: &str, value: Value| json!({"type": "RequestMirror", "requestMirror": {"backendRef": backend, share: value}});
        let value_match = json!({"type": "RegularExpression", "name": "a", "value": ".*"});
        json!({
            "name": "all",
            "matches": [{
                "path": {"type": "Exact", "value": "/a"},
                "headers": [value_match],
                "queryParams": [value_match],
                "method": "PATCH",
            }],
            "filters": [
                {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier},
                {"type": "ResponseHeaderModifier", "responseHeaderModifier": modifier},
                mirror("percent", json!(10)),
                mirror("fraction", json!({"numerator": 1, "denominator": 3})),
                {"type": "RequestRedirect", "requestRedirect": {
                    "scheme": "https", "hostname": "a.example.com", "port": 8443, "statusCode": 308,
                    "path": {"type": "ReplaceFullPath", "replaceFullPath": "/b"},
                }},
                {"type": "URLRewrite", "urlRewrite": {
                    "hostname": "a.example.com",
                    "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b"},
                }},
                {"type": "CORS", "cors": {
                    "allowOrigins": ["*"], "allowCredentials": true, "allowMethods": ["GET"], "allowHeaders": ["x-a"],
                    "exposeHeaders": ["x-b"], "maxAge": 60,
                }},
                {"type": "ExtensionRef", "extensionRef": {"group": "g", "kind": "K", "name": "n"}},
            ],
            "backendRefs": [{
                "group": "", "kind": "Service", "name": "b", "namespace": "ns", "port": 80, "weight": 1,
                "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}],
            }],
            "timeouts": {"request": "10s", "backendRequest": "500ms"},
        })
    }

    #[test]
    fn every_field_is_that_of_gateway_api() -> Result<(), serde_json::Error> {
        let ours: HttpRule = serde_json::from_value(mk_rule())?;
        assert_eq!(serde_json::to_value(ours)?, mk_rule());
        let theirs: HttpRouteRules = serde_json::from_value(mk_rule())?;
        assert_eq!(serde_json::to_value(theirs)?, mk_rule());
        Ok(())
    }

    #[test]
    fn what_is_left_out_has_gateway_apis_default() -> Result<(), serde_json::Error> {
        let rule: HttpRule = serde_json::from_value(json!({
            "matches": [{"path": {}, "headers": [{"name": "a", "value": "b"}]}],
            "filters": [{"type": "RequestRedirect", "requestRedirect": {}}, {"type": "CORS", "cors": {}}],
            "backendRefs": [{"name": "b"}],
        }))?;
        let rule = serde_json::to_value(rule)?;
        let table = [
            ("/matches/0/path/type", json!("PathPrefix")),
            ("/matches/0/path/value", json!("/")),
            ("/matches/0/headers/0/type", json!("Exact")),
            ("/filters/0/requestRedirect/statusCode", json!(302)),
            ("/filters/1/cors/maxAge", json!(5)),
            ("/backendRefs/0/group", json!("")),
            ("/backendRefs/0/kind", json!("Service")),
            ("/backendRefs/0/weight", json!(1)),
        ];
        for (field, default) in table {
            assert_eq!(rule.pointer(field), Some(&default), "{field}");
        }
        Ok(())
    }

    #[test]
    fn what_gateway_api_does_not_have_is_refused() {
        let table = [
            ("/matches/0/path/type", json!("Prefix")),
            ("/matches/0/headers/0/type", json!("exact")),
            ("/matches/0/method", json!("get")),
            ("/filters/0/type", json!("Rewrite")),
            ("/filters/2/requestMirror/percent", json!(101)),
            ("/filters/3/requestMirror/fraction/denominator", json!(0)),
            ("/filters/4/requestRedirect/statusCode", json!(300)),
            ("/filters/4/requestRedirect/scheme", json!("ftp")),
            ("/filters/5/urlRewrite/path/type", json!("ReplaceRegex")),
            ("/filters/6/cors/maxAge", json!(0)),
            ("/backendRefs/0/port", json!(0)),
            ("/backendRefs/0/port", json!(65_536)),
            ("/backendRefs/0/weight", json!(-1)),
            ("/timeouts/request", json!("10")),
        ];
        for (field, value) in table {
            let mut rule = mk_rule();
            let message = format!("{field}: {value}");
            *rule.pointer_mut(field).expect(&message) = value;
            assert!(serde_json::from_value::<HttpRule>(rule).is_err(), "{message}");
        }
    }
}
