//! What a call must be like, from Gateway API's form to the filter's: the path of a call is `/SERVICE/METHOD` (gRPC over
//! HTTP/2, "Requests").

use mcwan_policy::wire::{self, PathMatch};

use super::http_match::value_match;
use crate::api::{GrpcMatch, GrpcMethodMatch, GrpcMethodMatchType};

/// Any service, or any method.
const ANY: &str = "[^/]+";

/// As the filter is told of it.
pub(super) fn wire_match(GrpcMatch { method, headers }: &GrpcMatch) -> wire::Match {
    let headers = headers.iter().map(|header| value_match(&header.name, header.r#type, &header.value));
    let path = Some(path_match(method.as_ref()));
    let mut wire_match = wire::Match { path, headers: headers.collect(), ..wire::Match::default() };
    wire_match.keep_first_of_equal_names();
    wire_match
}

fn path_match(method: Option<&GrpcMethodMatch>) -> PathMatch {
    let Some(GrpcMethodMatch { r#type, service, method }) = method else {
        // Of expressions the longer one goes first: this one ranks below all others.
        return PathMatch::Regex(".*".to_owned());
    };
    match (r#type, service, method) {
        (GrpcMethodMatchType::Exact, Some(service), Some(method)) => PathMatch::Exact(format!("/{service}/{method}")),
        (GrpcMethodMatchType::Exact, Some(service), None) => PathMatch::RawPrefix(format!("/{service}/")),
        // A name has no character that means something in an expression.
        (GrpcMethodMatchType::Exact, None, method) => {
            PathMatch::Regex(format!("/{ANY}/{}", method.as_deref().unwrap_or(ANY)))
        }
        (GrpcMethodMatchType::RegularExpression, service, method) => {
            let part = |name: &Option<String>| name.as_ref().map_or(ANY.to_owned(), |name| format!("(?:{name})"));
            PathMatch::Regex(format!("/{}/{}", part(service), part(method)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_path() {
        let exact = GrpcMethodMatchType::Exact;
        let regex = GrpcMethodMatchType::RegularExpression;
        let table = [
            (exact, Some("pay.v1.Pay"), Some("Refund"), PathMatch::Exact("/pay.v1.Pay/Refund".to_owned())),
            (exact, Some("pay.v1.Pay"), None, PathMatch::RawPrefix("/pay.v1.Pay/".to_owned())),
            (exact, None, Some("Refund"), PathMatch::Regex("/[^/]+/Refund".to_owned())),
            (regex, Some("a|b"), Some("Get.*"), PathMatch::Regex("/(?:a|b)/(?:Get.*)".to_owned())),
            (regex, Some("a|b"), None, PathMatch::Regex("/(?:a|b)/[^/]+".to_owned())),
            (regex, None, Some("Get.*"), PathMatch::Regex("/[^/]+/(?:Get.*)".to_owned())),
        ];
        for (kind, service, method, expected) in table {
            let [service, method] = [service, method].map(|name| name.map(str::to_owned));
            let asked = GrpcMethodMatch { r#type: kind, service, method };
            assert_eq!(path_match(Some(&asked)), expected, "{asked:?}");
        }
        assert_eq!(path_match(None), PathMatch::Regex(".*".to_owned()));
    }
}
