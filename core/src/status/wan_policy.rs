//! The condition of a `WANPolicy`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::condition::{ACCEPTED, Saying, Subject};
use super::{StatusKind, StatusPatch, message};
use crate::problem::{ObjectRef, Problem, Reason, Severity};
use crate::translate::Exports;

/// What changes in the status of a `WANPolicy`. `emitted` are the problems that were found when objects were made, of
/// others as well. Of two tiers with one port both say so; the younger is not accepted.
pub fn wan_policy<'p>(
    subject: Subject<'_>,
    exports: &'p Exports,
    emitted: impl IntoIterator<Item = &'p Problem>,
    now: &Time,
) -> Option<StatusPatch> {
    let object = ObjectRef::cluster("WANPolicy", subject.metadata.name.clone().unwrap_or_default());
    let all = exports.problems().iter().chain(emitted);
    let mut problems: Vec<&Problem> = all.filter(|problem| problem.object == object).collect();
    problems.dedup();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    let saying = match problems.first() {
        Some(worst) => {
            let message = message::of_problems(problems.iter().copied(), &object);
            Saying::new(ACCEPTED, worst.severity < Severity::Error, worst.reason, message)
        }
        None => Saying::new(ACCEPTED, true, Reason::Accepted, "services can be had over this tier"),
    };
    subject.patch(StatusKind::WanPolicy, &[ACCEPTED], vec![saying], now)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::McsVersion;
    use crate::snapshot::Gathered;
    use crate::snapshot::change::Change;
    use crate::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust};

    #[test]
    fn of_two_tiers_with_one_port_both_say_so() {
        let policy = |name, port| {
            format!(
                "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: WANPolicy\nmetadata: {{name: {name}}}\nspec: {{port: {port}}}\n"
            )
        };
        let gathered = Gathered::from_text(
            "test.yaml",
            &[policy("older", 1), policy("younger", 1), policy("fine", 2)].join("---\n"),
        );
        let mut translator = Translator::new(Options {
            cluster: None,
            steering_key: "a key of many letters".parse().unwrap(),
            steering: Steering::RouteHeader,
            mcs_version: McsVersion::default(),
            trust: Trust::default(),
            front_ends: FrontEnds::default(),
            routes: RouteOptions::default(),
            cable_drivers: None,
        });
        translator.update(&gathered.snapshot, &[Change::Everything]);
        let now = Time(Timestamp::UNIX_EPOCH);
        for (name, status, reason) in
            [("older", "True", "PortConflict"), ("younger", "False", "PortConflict"), ("fine", "True", "Accepted")]
        {
            let policy = gathered.snapshot.wan_policies.get("", name).unwrap();
            let patch = wan_policy(Subject::wan_policy(policy), translator.exports(), &[], &now).unwrap();
            let condition = &patch.body["status"]["conditions"][0];
            assert_eq!((&condition["status"], &condition["reason"]), (&status.into(), &reason.into()), "{name}");
            assert!(patch.body["metadata"].get("namespace").is_none(), "{name}: it is in no namespace");
        }
    }
}
