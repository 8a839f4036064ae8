//! What a request must be like, from Gateway API's form to the filter's.

use mcwan_policy::wire;

use crate::api::{HttpMatch, Method, PathMatchType, ValueMatchType};

/// As the filter is told of it.
pub(super) fn wire_match(http: &HttpMatch) -> wire::Match {
    let HttpMatch { path, headers, query_params, method } = http;
    let path = path.as_ref().map(|path| {
        let value = path.value.clone();
        match path.r#type {
            PathMatchType::Exact => wire::PathMatch::Exact(value),
            PathMatchType::PathPrefix => wire::PathMatch::Prefix(value),
            PathMatchType::RegularExpression => wire::PathMatch::Regex(value),
        }
    });
    let headers = headers.iter().map(|header| value_match(&header.name, header.r#type, &header.value));
    let query_params = query_params.iter().map(|param| value_match(&param.name, param.r#type, &param.value));
    let mut wire_match = wire::Match {
        path,
        method: method.map(wire_method),
        headers: headers.collect(),
        query_params: query_params.collect(),
    };
    wire_match.keep_first_of_equal_names();
    wire_match
}

/// The same of one header or query parameter.
pub(super) fn value_match(name: &str, kind: ValueMatchType, value: &str) -> wire::ValueMatch {
    let value = match kind {
        ValueMatchType::Exact => wire::Value::Exact(value.to_owned()),
        ValueMatchType::RegularExpression => wire::Value::Regex(value.to_owned()),
    };
    wire::ValueMatch { name: name.to_owned(), value }
}

fn wire_method(method: Method) -> wire::Method {
    match method {
        Method::Get => wire::Method::Get,
        Method::Head => wire::Method::Head,
        Method::Post => wire::Method::Post,
        Method::Put => wire::Method::Put,
        Method::Delete => wire::Method::Delete,
        Method::Connect => wire::Method::Connect,
        Method::Options => wire::Method::Options,
        Method::Trace => wire::Method::Trace,
        Method::Patch => wire::Method::Patch,
    }
}
