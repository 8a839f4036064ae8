//! `mcwan explain` over files.

use serde_json::Value;

use crate::cli::{Result, example, mcwan};

#[test]
fn explain_says_what_happens_and_why() -> Result {
    let table: [(&[&str], &[&str]); 4] = [
        (
            &["--host", "payment.secure:8080", "--path", "/payment"],
            &[
                "rule       0, match 0\n",
                "tier sd-wan-priority-high",
                "rule 1, match 0 does not take it: the path is not",
            ],
        ),
        (&["--host", "payment.secure", "--path", "/x"], &["answer     403", "x-mcwan-reason: NoRuleMatched"]),
        (&["--host", "payment.secure", "--method", "POST", "--path", "/payment"], &["403", "the method is not GET"]),
        (&["--host", "elsewhere"], &["goes on", "its host belongs to no import"]),
    ];
    let payment = example("payment");
    for (request, expected) in table {
        let arguments: Vec<&str> = ["explain", &payment].iter().chain(request).copied().collect();
        let ran = mcwan(&arguments, "")?;
        assert_eq!((ran.status, ran.log.as_str()), (Some(0), ""), "{request:?}");
        for text in expected {
            assert!(ran.out.contains(text), "{request:?}: {text}: {}", ran.out);
        }
    }
    Ok(())
}

/// What if a path did not keep its promise.
#[test]
fn explain_supposes_levels_of_paths() -> Result {
    let table: [(&[&str], Option<i32>, &[&str]); 5] = [
        (
            &[],
            Some(0),
            &["tier sd-wan-priority-high to cluster", "sd-wan-priority-low does not take it: one before it does"],
        ),
        (
            &["--level", "sd-wan-priority-high@cluster-1=out", "--level", "sd-wan-priority-high@cluster-3=down"],
            Some(0),
            &[
                "tier sd-wan-priority-low to cluster",
                "sd-wan-priority-high does not take it: it does not keep its promise",
                "cluster cluster-1: Out, takes no part",
                "cluster cluster-3: Down, takes no part",
            ],
        ),
        (&["--level", "sd-wan-priority-high@cluster-1=down"], Some(0), &["to cluster cluster-3", "weight 1"]),
        (
            &["--level", "gold@cluster-1=out"],
            Some(1),
            &["no rule goes by the path gold@cluster-1", "sd-wan-priority-low@cluster-3"],
        ),
        (&["--level", "sd-wan-priority-high=out"], Some(2), &["write it as `TIER@CLUSTER=out`"]),
    ];
    let example = example("sla");
    for (levels, status, expected) in table {
        let request = ["explain", &example, "--host", "payment.secure", "--path", "/payment", "--seed", "1"];
        let ran = mcwan(&[&request, levels].concat(), "")?;
        assert_eq!(ran.status, status, "{levels:?}: {}", ran.log);
        for text in expected {
            assert!(ran.out.contains(text) || ran.log.contains(text), "{levels:?}: {text}: {}{}", ran.out, ran.log);
        }
    }
    Ok(())
}

#[test]
fn explain_answers_a_line_for_a_line() -> Result {
    let requests = r#"{"host": "payment.secure", "path": "/payment"}
{"method": "POST", "scheme": "https", "host": "payment.secure:8080", "port": 8080, "path": "/stats", "headers": [["X-A", "1"]]}
{"host": "elsewhere"}
"#;
    let ran = mcwan(&["explain", &example("payment"), "--requests", "-", "-o", "json"], requests)?;
    assert_eq!((ran.status, ran.log.as_str()), (Some(0), ""));
    let answers: Vec<Value> = ran.out.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    let kinds: Vec<_> = answers.iter().map(|answer| answer["kind"].as_str()).collect();
    assert_eq!(kinds, [Some("Route"), Some("Route"), Some("Pass")]);
    assert_eq!(answers[1]["requestHeaders"][0], serde_json::json!(["x-a", "1"]));
    let fields = [
        "authority",
        "destination",
        "forwarding",
        "import",
        "kind",
        "match",
        "notPermitted",
        "path",
        "reason",
        "reply",
        "requestHeaders",
        "responseHeaders",
        "rule",
        "target",
        "tiers",
    ];
    let answered: Vec<_> = answers[2].as_object().into_iter().flatten().map(|(field, _)| field.as_str()).collect();
    assert_eq!(answered, fields, "what does not apply is null");
    Ok(())
}

#[test]
fn a_line_that_is_no_request_is_named() -> Result {
    let ran = mcwan(&["explain", &example("payment"), "--requests", "-"], "{\"host\": \"a\"}\n{\"hst\": \"a\"}\n")?;
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.log.contains("<stdin>:2: this is no request: unknown field `hst`"), "{}", ran.log);
    Ok(())
}

#[test]
fn a_seed_makes_choices_repeatable() -> Result {
    let requests = "{\"host\": \"payment.secure\"}\n".repeat(50);
    let split = |seed| {
        let arguments = ["explain", &example("split"), "--requests", "-", "-o", "json", "--seed", seed];
        mcwan(&arguments, &requests).map(|ran| ran.out)
    };
    assert_eq!(split("1")?, split("1")?, "one seed");
    assert_ne!(split("1")?, split("2")?, "two seeds");
    Ok(())
}
