//! RESOURCES, "Hosts of an import"; DESIGN, "The steering contract", step 1.

use mcwan_policy::wire::{Import, PluginConfig, UnknownHosts};

use crate::common::{Asked, TableOutcome, ask_config, get, mk_config, mk_import, mk_open_import};

/// Which import has a host, by `NAMESPACE/NAME`.
fn owner(config: &PluginConfig, authority: &str) -> String {
    match ask_config(config, &get(authority, "/")) {
        TableOutcome::Route { import, .. } => import,
        other => other.to_string(),
    }
}

#[track_caller]
fn check(imports: &[Import], rows: &[(&str, &str, &str)]) {
    let config = mk_config(imports);
    for (message, authority, expected) in rows {
        assert_eq!(owner(&config, authority), *expected, "{message}: {authority}");
    }
}

#[test]
fn an_import_has_its_name_and_its_clusterset_name_bare_and_qualified() {
    check(
        &[mk_open_import("secure/payment", &[])],
        &[
            ("the bare name", "payment", "secure/payment"),
            ("with its namespace", "payment.secure", "secure/payment"),
            ("as a service", "payment.secure.svc", "secure/payment"),
            ("in full", "payment.secure.svc.cluster.local", "secure/payment"),
            ("the bare clusterset name", "payment-clusterset", "secure/payment"),
            ("with its namespace", "payment-clusterset.secure", "secure/payment"),
            ("as a service", "payment-clusterset.secure.svc", "secure/payment"),
            ("in full", "payment-clusterset.secure.svc.cluster.local", "secure/payment"),
            ("the clusterset domain", "payment.secure.svc.clusterset.local", "secure/payment"),
            ("another namespace", "payment.other", "pass"),
            ("another namespace in full", "payment.other.svc.cluster.local", "pass"),
            ("another name", "payments.secure", "pass"),
            ("a longer first label", "xpayment.secure", "pass"),
            ("a label too many", "x.payment.secure", "pass"),
            ("half of the domain", "payment.secure.svc.cluster", "pass"),
            ("the wrong domain", "payment.secure.svc.local", "pass"),
            ("half of the clusterset domain", "payment.secure.svc.clusterset", "pass"),
            ("both forms at once", "payment-clusterset.secure.svc.clusterset.local", "pass"),
            ("the namespace", "secure", "pass"),
        ],
    );
}

#[test]
fn an_import_has_the_hostnames_that_its_user_gives_beside_its_own() {
    check(
        &[mk_open_import("secure/payment", &["pay.example.com"])],
        &[
            ("the hostname", "pay.example.com", "secure/payment"),
            ("its own name", "payment.secure", "secure/payment"),
            ("a host below it", "a.pay.example.com", "pass"),
            ("the host above it", "example.com", "pass"),
            ("a longer first label", "xpay.example.com", "pass"),
            ("a longer last label", "pay.example.comx", "pass"),
        ],
    );
}

#[test]
fn hosts_compare_in_any_case() {
    check(
        &[mk_open_import("secure/payment", &["*.example.com"])],
        &[
            ("an exact host", "PayMent.SECURE", "secure/payment"),
            ("a wildcard", "A.Example.COM", "secure/payment"),
            ("another host", "PAYMENTS.SECURE", "pass"),
        ],
    );
}

#[test]
fn a_port_and_one_trailing_dot_are_ignored() {
    check(
        &[mk_open_import("secure/payment", &["*.example.com"])],
        &[
            ("a port", "payment.secure:8080", "secure/payment"),
            ("another port", "payment.secure:1", "secure/payment"),
            ("an empty port (RFC 3986)", "payment.secure:", "secure/payment"),
            ("a dot", "payment.secure.", "secure/payment"),
            ("a dot and a port", "payment.secure.:8080", "secure/payment"),
            ("a bare name with both", "payment.:8080", "secure/payment"),
            ("a wildcard with both", "a.example.com.:8080", "secure/payment"),
            ("two dots", "payment.secure..", "pass"),
            ("two dots and a port", "payment.secure..:80", "pass"),
            ("two ports", "payment.secure:80:80", "pass"),
            ("a dot in front", ".payment.secure", "pass"),
            ("an address that ends in digits", "[::1]:8080", "pass"),
        ],
    );
}

#[test]
fn a_wildcard_has_every_host_below_its_domain() {
    check(
        &[mk_open_import("secure/payment", &["*.example.com"])],
        &[
            ("one label", "a.example.com", "secure/payment"),
            ("several labels", "a.b.example.com", "secure/payment"),
            ("the domain itself", "example.com", "pass"),
            ("an empty label", ".example.com", "pass"),
            ("a domain that only ends like it", "aexample.com", "pass"),
            ("a host below whose last label is longer", "a.example.comx", "pass"),
            ("the wildcard's own suffix in another domain", "a.example.com.evil", "pass"),
        ],
    );
}

#[test]
fn an_exact_host_goes_before_a_wildcard_and_the_longest_wildcard_first() {
    let imports = [
        mk_open_import("secure/any", &["*.com"]),
        mk_open_import("secure/example", &["*.example.com"]),
        mk_open_import("secure/pay", &["*.pay.example.com"]),
        mk_open_import("secure/exact", &["a.pay.example.com"]),
    ];
    let mut reversed = imports.clone();
    reversed.reverse();
    for imports in [imports, reversed] {
        check(
            &imports,
            &[
                ("exact", "a.pay.example.com", "secure/exact"),
                ("the longest wildcard", "b.pay.example.com", "secure/pay"),
                ("the longest wildcard, deeper", "c.a.pay.example.com", "secure/pay"),
                ("the domain of the longest is below the next", "pay.example.com", "secure/example"),
                ("the next", "b.example.com", "secure/example"),
                ("the shortest", "example.com", "secure/any"),
                ("none", "com", "pass"),
            ],
        );
    }
}

#[test]
fn a_wildcard_does_not_take_an_imports_own_names() {
    check(
        &[
            mk_open_import("secure/greedy", &["*.secure", "*.secure.svc.cluster.local"]),
            mk_open_import("secure/payment", &[]),
        ],
        &[
            ("its short name", "payment.secure", "secure/payment"),
            ("its canonical name", "payment.secure.svc.cluster.local", "secure/payment"),
            ("another name", "stats.secure", "secure/greedy"),
        ],
    );
}

#[test]
fn the_older_import_has_a_host_whole() {
    let taking = mk_open_import("secure/old", &["pay.example.com", "*.example.com", "payment.secure"]);
    let losing = mk_open_import("secure/payment", &["pay.example.com", "*.example.com", "late.example.org"]);
    check(
        &[taking.clone(), losing.clone()],
        &[
            ("an exact host", "pay.example.com", "secure/old"),
            ("a wildcard", "x.example.com", "secure/old"),
            ("a host that follows from the other's name", "payment.secure", "secure/old"),
            ("what the younger alone claims stays its own", "late.example.org", "secure/payment"),
            ("also its other names", "payment.secure.svc", "secure/payment"),
        ],
    );
    check(
        &[losing, taking],
        &[
            ("an exact host", "pay.example.com", "secure/payment"),
            ("a wildcard", "x.example.com", "secure/payment"),
            ("its own name", "payment.secure", "secure/payment"),
        ],
    );
}

#[test]
fn the_older_import_has_a_host_whole_even_where_none_of_its_rules_matches() {
    let closed = Import { hostnames: vec!["pay.example.com".to_owned()], ..mk_import("secure/closed", &[]) };
    let config = mk_config(&[closed, mk_open_import("secure/open", &["pay.example.com"])]);
    assert_eq!(owner(&config, "pay.example.com"), "403 NoRuleMatched");
}

#[test]
fn bare_names_that_several_namespaces_would_claim_are_left_out() {
    check(
        &[
            mk_open_import("secure/payment", &[]),
            mk_open_import("other/payment", &[]),
            mk_open_import("other/stats", &[]),
        ],
        &[
            ("the bare name", "payment", "pass"),
            ("the bare clusterset name", "payment-clusterset", "pass"),
            ("the older's qualified name", "payment.secure", "secure/payment"),
            ("the younger's qualified name", "payment.other", "other/payment"),
            ("a bare name of one namespace", "stats", "other/stats"),
            ("its clusterset name", "stats-clusterset", "other/stats"),
        ],
    );
}

#[test]
fn a_bare_clusterset_name_collides_with_a_service_of_that_name() {
    let imports = [mk_open_import("secure/payment", &[]), mk_open_import("other/payment-clusterset", &[])];
    check(
        &imports,
        &[
            ("both claim it", "payment-clusterset", "pass"),
            ("the first alone", "payment", "secure/payment"),
            ("the second alone", "payment-clusterset-clusterset", "other/payment-clusterset"),
            ("qualified", "payment-clusterset.secure", "secure/payment"),
            ("qualified", "payment-clusterset.other", "other/payment-clusterset"),
        ],
    );
    check(
        &[mk_open_import("secure/payment", &[]), mk_open_import("secure/payment-clusterset", &[])],
        &[("within one namespace the older has it", "payment-clusterset", "secure/payment")],
    );
}

#[test]
fn the_upstream_sees_the_canonical_host_whichever_was_asked_for() {
    let config = mk_config(&[mk_open_import("secure/payment", &["*.example.com"])]);
    for authority in ["payment", "PAYMENT-clusterset.secure.:80", "a.example.com", "payment.secure.svc.cluster.local"] {
        match ask_config(&config, &get(authority, "/")) {
            TableOutcome::Route { authority: new, steering, .. } => {
                assert_eq!(new, "payment.secure.svc.cluster.local", "{authority}");
                assert_eq!(steering, "high.high-digest", "{authority}");
            }
            other => panic!("{authority}: {other}"),
        }
    }
}

#[test]
fn a_host_of_no_import_passes_unless_the_config_refuses_it() {
    let pass = mk_config(&[mk_open_import("secure/payment", &[])]);
    let refuse = PluginConfig { unknown_hosts: UnknownHosts::Refuse, ..pass.clone() };
    let unknown = get("stats.secure", "/");
    assert_eq!(ask_config(&pass, &unknown), TableOutcome::Pass);
    let refused = TableOutcome::Refuse { import: None, matched: None, status: 404, reason: "UnknownHost".to_owned() };
    assert_eq!(ask_config(&refuse, &unknown), refused);
    let known = get("payment.secure", "/");
    assert_eq!(ask_config(&pass, &known), ask_config(&refuse, &known), "known hosts are decided alike");
}

#[test]
fn a_config_without_imports_knows_no_host() {
    assert_eq!(ask_config(&mk_config(&[]), &get("payment.secure", "/")), TableOutcome::Pass);
}

#[test]
fn no_usable_authority_is_a_bad_request() {
    let pass = mk_config(&[mk_open_import("secure/payment", &["*.example.com"])]);
    let refuse = PluginConfig { unknown_hosts: UnknownHosts::Refuse, ..pass.clone() };
    let rows: [(&str, Option<&[u8]>); 7] = [
        ("absent", None),
        ("empty", Some(b"")),
        ("only a port", Some(b":8080")),
        ("only a dot", Some(b".")),
        ("not UTF-8", Some(b"\xff")),
        ("not UTF-8 beside a host of ours", Some(b"payment.secure\xff")),
        ("not UTF-8 below a wildcard of ours", Some(b"\xff.example.com")),
    ];
    for (message, authority) in rows {
        let request = Asked { authority: authority.map(<[u8]>::to_vec), ..get("", "/") };
        for config in [&pass, &refuse] {
            let bad =
                TableOutcome::Refuse { import: None, matched: None, status: 400, reason: "BadRequest".to_owned() };
            assert_eq!(ask_config(config, &request), bad, "{message}");
        }
    }
}

#[test]
fn an_authority_that_is_no_host_name_belongs_to_no_import() {
    let config = mk_config(&[mk_open_import("secure/payment", &["*.example.com"])]);
    let authorities = [
        "evil.example/x.example.com",
        "evil.example?x.example.com",
        "evil.example#x.example.com",
        "evil.example\\x.example.com",
        "a b.example.com",
        "a\r\nb.example.com",
        "evil.example:80/x.example.com",
        "payment.secure/",
        "payment .secure",
    ];
    for authority in authorities {
        let owner = owner(&config, authority);
        assert!(["pass", "400 BadRequest"].contains(&owner.as_str()), "{authority:?}: {owner}");
    }
}
