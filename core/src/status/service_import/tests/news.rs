//! What of a status is news.

use super::*;

#[test]
fn nothing_new_is_no_patch_and_only_a_flip_moves_the_time() {
    let saying = |status, reason| vec![Saying::new(PROGRAMMED, status, reason, "text")];
    let foreign = json!({"type": "Other", "status": "True", "reason": "R", "message": "", "lastTransitionTime": at(0)});
    let foreign: Condition = serde_json::from_value(foreign).unwrap();
    let metadata = ObjectMeta {
        name: Some("payment".to_owned()),
        namespace: Some("secure".to_owned()),
        generation: Some(1),
        ..Default::default()
    };
    let mut observed = vec![foreign];
    let mut step = |status, reason, now: i64| {
        let subject = Subject { metadata: &metadata, conditions: &observed };
        let patch = subject.patch(StatusKind::ServiceImport, &[PROGRAMMED], saying(status, reason), &at(now))?;
        let said = conditions(&patch);
        assert_eq!(said.len(), 1, "others' conditions are left alone");
        observed.truncate(1);
        observed.extend(said.clone());
        let news: Vec<_> = patch.news.into_iter().map(|News { news_type, reason, .. }| (news_type, reason)).collect();
        Some((said[0].last_transition_time.clone(), news))
    };
    assert_eq!(step(false, Reason::Pending, 1), Some((at(1), vec![])), "new, but on its way");
    assert_eq!(step(false, Reason::Pending, 2), None, "the same");
    let refused = vec![(NewsType::Warning, Reason::Refused)];
    assert_eq!(step(false, Reason::Refused, 3), Some((at(1), refused)), "another reason");
    assert_eq!(
        step(true, Reason::Programmed, 4),
        Some((at(4), vec![(NewsType::Normal, Reason::Programmed)])),
        "a flip"
    );
    assert_eq!(step(true, Reason::Programmed, 5), None, "the same");
}

#[test]
fn what_is_no_longer_partially_invalid_no_longer_says_so() {
    let condition = |kind: &str| {
        let value = json!({"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": at(0)});
        serde_json::from_value::<Condition>(value).unwrap()
    };
    let conditions = [condition(ACCEPTED), condition(PARTIALLY_INVALID)];
    let metadata = ObjectMeta::default();
    let subject = Subject { metadata: &metadata, conditions: &conditions };
    let patch = subject.patch(
        StatusKind::ServiceImport,
        &OURS,
        vec![Saying::new(ACCEPTED, true, Reason::Accepted, "")],
        &at(1),
    );
    assert_eq!(summary(&patch.unwrap()), "Accepted=True/Accepted");
}

#[test]
fn what_may_be_out_of_date_is_told_as_long_as_it_may_be() {
    let second = WORLD.replace("c1", "c2");
    let both = format!("{WORLD}{}", second.split("---\n").skip(1).take(2).collect::<Vec<_>>().join("---\n"));
    let unreachable = RegistryState::Unreachable("no route".to_owned());
    let delivery = |registry: &RegistryState| Delivery { registry: registry.clone(), ..Delivery::default() };
    let table = [
        (WORLD, &[][..], &RegistryState::Reachable, None, "all is well"),
        (WORLD, &["c1"], &RegistryState::Reachable, Some(("ClusterStale", "requests still go there")), "the only one"),
        (&both, &["c1"], &RegistryState::Reachable, Some(("ClusterStale", "only where no other")), "one of two"),
        (&both, &["c1", "c2"], &RegistryState::Reachable, Some(("ClusterStale", "c1, c2")), "both"),
        (WORLD, &["c3"], &RegistryState::Reachable, None, "one that exports something else"),
        (WORLD, &["c1"], &unreachable, Some(("RegistryUnreachable", "no route")), "everything may be out of date"),
    ];
    for (world, stale, registry, expected, message) in table {
        let judge = |snapshot: &mut Snapshot| {
            snapshot.judge(stale.iter().map(|name| (*name).to_owned()).collect());
        };
        let patch = patch_judged(&format!("{world}---\n"), &rules(SOUND), &[], &delivery(registry), judge);
        let conditions = conditions(&patch);
        let told = conditions.iter().find(|condition| condition.type_ == STALE);
        assert_eq!(told.map(|told| told.reason.as_str()), expected.map(|(reason, _)| reason), "{message}");
        let text = told.map(|told| told.message.as_str()).unwrap_or_default();
        assert!(text.contains(expected.map_or("", |(_, text)| text)), "{message}: {text}");
        let is_good =
            summary(&patch).starts_with("Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True");
        assert!(is_good, "{message}: the rest is as it was");
    }
}

#[test]
fn that_it_is_up_to_date_again_is_news() {
    let metadata = ObjectMeta { name: Some("payment".to_owned()), ..ObjectMeta::default() };
    let condition = |saying: Saying| Condition {
        type_: saying.condition.to_owned(),
        status: "True".to_owned(),
        reason: saying.reason.to_string(),
        message: saying.message,
        observed_generation: None,
        last_transition_time: at(1),
    };
    let stale = || Saying::new(STALE, true, Reason::ClusterStale, "c1");
    let news = |before: &[Condition], now: Vec<Saying>| {
        let subject = Subject { metadata: &metadata, conditions: before };
        let patch = subject.patch(StatusKind::ServiceImport, &OURS, now, &at(2));
        patch.into_iter().flat_map(|patch| patch.news).map(|news| news.reason).collect::<Vec<_>>()
    };
    assert_eq!(news(&[], vec![stale()]), [Reason::ClusterStale], "it becomes stale");
    assert_eq!(news(&[condition(stale())], vec![stale()]), [], "it stays so");
    assert_eq!(news(&[condition(stale())], Vec::new()), [Reason::UpToDate], "it is back");
}
