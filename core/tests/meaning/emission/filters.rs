//! Filters that cannot be had, and where it is said.

use super::world::{World, mk_import, mk_plain_export, reasons, to_high};

#[test]
fn a_query_in_a_new_path_is_refused_at_its_field() {
    let path = |value: &str| format!("path: {{type: ReplaceFullPath, replaceFullPath: '{value}'}}");
    let rewrite = |value: &str| format!("filters: [{{type: URLRewrite, urlRewrite: {{{}}}}}]", path(value));
    let redirect = |value: &str| format!("filters: [{{type: RequestRedirect, requestRedirect: {{{}}}}}]", path(value));
    let backend = "{group: mc-wan.l7mp.io, kind: WANPolicy, name: high";
    let rule = "spec.http.rules[0]";
    for (fields, field, message) in [
        (to_high(&rewrite("/a")), None, "a path"),
        (to_high(&rewrite("/a?b=c")), Some("filters[0].urlRewrite.path.replaceFullPath"), "a query in a rewrite"),
        (to_high(&rewrite("/a?")), Some("filters[0].urlRewrite.path.replaceFullPath"), "an empty one"),
        (
            format!("{{{}}}", redirect("/a?b")),
            Some("filters[0].requestRedirect.path.replaceFullPath"),
            "a query in a redirect",
        ),
        (
            format!("{{backendRefs: [{backend}, {}}}]}}", rewrite("/a?b")),
            Some("backendRefs[0].filters[0].urlRewrite.path.replaceFullPath"),
            "a backend's",
        ),
    ] {
        let world = World::new(&[mk_plain_export(), mk_import("payment", &[fields])]);
        let expected = Vec::from_iter(field.map(|field| format!("InvalidFilter {rule}.{field}")));
        assert_eq!(reasons(&world.payment().problems), expected, "{message}");
    }
}
