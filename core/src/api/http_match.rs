//! The matches of an `HTTPRoute` rule.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::pattern;

/// What a request must be like: everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpMatch {
    /// The path without its query. Absent: every path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathMatch>,
    /// Headers, all of which must match. Of equal names the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub headers: Vec<HeaderMatch>,
    /// Query parameters, all of which must match. Of equal names the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub query_params: Vec<QueryParamMatch>,
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
}

/// What a path must be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("format" = "path-match"))]
pub struct PathMatch {
    /// How `value` is compared.
    pub r#type: PathMatchType,
    /// The path, the prefix or the expression. Absent: `/`.
    #[schemars(length(max = 1024), transform = without_default)]
    pub value: String,
}

/// How a path is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PathMatchType {
    /// The whole path, byte for byte.
    Exact,
    /// A prefix by path elements: `/a` matches `/a`, `/a/` and `/a/b`, not `/ab`.
    #[default]
    PathPrefix,
    /// A regular expression over the whole path.
    RegularExpression,
}

/// What a header must be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderMatch {
    /// How `value` is compared.
    #[serde(default)]
    pub r#type: ValueMatchType,
    /// Its name, in any case.
    #[schemars(length(max = 256), regex(pattern = pattern::HEADER_NAME))]
    pub name: String,
    /// The value or the expression.
    #[schemars(length(min = 1, max = 4096))]
    pub value: String,
}

/// What a query parameter must be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueryParamMatch {
    /// How `value` is compared.
    #[serde(default)]
    pub r#type: ValueMatchType,
    /// Its name, as it is.
    #[schemars(length(max = 256), regex(pattern = pattern::HEADER_NAME))]
    pub name: String,
    /// The value or the expression.
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
}

/// How the value of a header or query parameter is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ValueMatchType {
    /// Byte for byte.
    #[default]
    Exact,
    /// A regular expression over the whole value.
    RegularExpression,
}

/// The methods that a match can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "RFC 9110, section 9, and RFC 5789 define them")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
}

/// Where a value was forgotten (`value: `), an API server would set the default, here every path: the schema has none.
fn without_default(schema: &mut Schema) {
    schema.remove("default");
}

impl Default for PathMatch {
    fn default() -> Self {
        Self { r#type: PathMatchType::PathPrefix, value: "/".to_owned() }
    }
}
