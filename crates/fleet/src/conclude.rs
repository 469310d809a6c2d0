//! The overall verdict of a fleet.

use std::collections::{HashMap, HashSet};

use assay_verdict::wording::{count, some_of};
use assay_verdict::{FleetComparison, FleetHost, FleetTrial, Verdict, wrong_by_chance};

/// Number of promises from which the expected number of errors is reported.
const MANY: usize = 10;

/// The verdict of a fleet and the sentence that explains it. `verdicts` are those of every promise
/// on every host, each with the confidence of the promise.
#[must_use]
pub fn conclude(
    hosts: &[FleetHost],
    comparisons: &[FleetComparison],
    verdicts: &[(Verdict, f64)],
) -> (Verdict, String) {
    // A run without promises about single trials is void and exits with 0.
    let is_silent =
        |host: &FleetHost| host.overall_verdict() == Some(Verdict::Void) && host.code == Some(0);
    let all_verdicts: Vec<Verdict> = hosts.iter().filter_map(FleetHost::overall_verdict).collect();
    let missing = named(hosts, |host| host.overall_verdict().is_none());
    if hosts.is_empty() {
        return (Verdict::Void, "no run was taken: the fleet has no host yet".to_owned());
    }
    if all_verdicts.is_empty() {
        return (Verdict::Void, format!("no host has a verdict ({})", list(&missing)));
    }
    let mut parts = Vec::new();
    for one in [Verdict::Broken, Verdict::Void, Verdict::Undecided, Verdict::Kept] {
        let of = named(hosts, |host| host.overall_verdict() == Some(one));
        if !of.is_empty() {
            let all = of.len() == hosts.len();
            let which = if all { String::new() } else { format!(" ({})", list(&of)) };
            let hosts = count(hosts.len(), "host");
            parts.push(format!("{} on {} of {hosts}{which}", one.word(), of.len()));
        }
    }
    if !missing.is_empty() {
        parts.push(format!("no verdict from {} ({})", missing.len(), list(&missing)));
    }
    let torn = comparisons.iter().filter(|one| one.hosts.is_empty());
    let torn = torn.map(|one| format!("`{}` over {}", one.measure, one.over.join(", ")));
    let torn: Vec<String> = torn.collect();
    if !torn.is_empty() {
        parts.push(format!("not judged across trials: {}", list(&torn)));
    }
    // If some hosts have a verdict, hosts without promises are ignored.
    let speaking = hosts.iter().filter(|host| !is_silent(host));
    let speaking: Vec<Verdict> = speaking.filter_map(FleetHost::overall_verdict).collect();
    let all_silent = speaking.is_empty();
    let verdict = match Verdict::worst(if all_silent { all_verdicts } else { speaking }) {
        Verdict::Kept if !missing.is_empty() || !torn.is_empty() => Verdict::Undecided,
        Verdict::Void if !torn.is_empty() && all_silent => Verdict::Undecided,
        worst => worst,
    };
    let parts = parts.join(", ");
    (verdict, [parts].into_iter().chain(by_chance(verdicts)).collect::<Vec<_>>().join("; "))
}

/// Each verdict holds at the confidence of its promise, but not all of them simultaneously.
fn by_chance(verdicts: &[(Verdict, f64)]) -> Option<String> {
    let promises = verdicts.len();
    let wrong = wrong_by_chance(verdicts.iter().copied()).filter(|_| promises >= MANY)?;
    Some(format!(
        "by chance alone at most {wrong:.1} of the verdicts on {promises} promises are expected to be \
         wrong"
    ))
}

/// Changes kept verdicts to undecided where a host of the same part is missing.
pub fn leave_open(
    hosts: &[FleetHost],
    trials: &mut [FleetTrial],
    comparisons: &mut [FleetComparison],
) {
    let missing = hosts.iter().filter(|host| host.verdict.is_none());
    let missing: HashSet<&Option<String>> = missing.map(|host| &host.slice).collect();
    let mut parts: HashMap<&str, &Option<String>> = HashMap::new();
    for host in hosts {
        parts.entry(&host.node).or_insert(&host.slice);
    }
    let is_missed = |node: &str| parts.get(node).is_some_and(|part| missing.contains(part));
    let downgraded = |verdict: Verdict, missed: bool| match verdict {
        Verdict::Kept if missed => Verdict::Undecided,
        other => other,
    };
    for trial in trials {
        for promise in &mut trial.promises {
            let missed = promise.hosts.iter().any(|host| is_missed(&host.node));
            promise.verdict = downgraded(promise.verdict, missed);
        }
        let of_promises = trial.promises.iter().map(|promise| promise.verdict);
        trial.verdict = Verdict::worst(of_promises.chain([trial.verdict]));
    }
    for one in comparisons {
        let missed = one.hosts.iter().any(|host| is_missed(&host.node));
        one.verdict = downgraded(one.verdict, missed);
    }
}

fn named(hosts: &[FleetHost], which: impl Fn(&FleetHost) -> bool) -> Vec<String> {
    let mut names: Vec<String> =
        hosts.iter().filter(|host| which(host)).map(|host| host.node.clone()).collect();
    names.dedup();
    names
}

fn list(names: &[String]) -> String {
    some_of(names, ", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_verdict::HostState;

    use super::*;
    use crate::merge::FleetMerge;
    use crate::merge::tests::judgement;

    fn host(node: &str, verdict: Option<Verdict>) -> FleetHost {
        FleetHost {
            task: 0,
            node: node.to_owned(),
            state: if verdict.is_some() { HostState::Ended } else { HostState::Lost },
            why: None,
            verdict,
            code: None,
            seed: 1,
            slice: None,
            run: None,
            broken_before: Vec::new(),
            restored: None,
            restored_first: Vec::new(),
            traits: BTreeMap::new(),
        }
    }

    #[test]
    fn a_missing_host_leaves_kept_promises_undecided() {
        let kept = [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Kept))];
        assert_eq!(conclude(&kept, &[], &[]), (Verdict::Kept, "kept on 2 of 2 hosts".to_owned()));
        let lost = [host("a", Some(Verdict::Kept)), host("b", None)];
        assert_eq!(
            conclude(&lost, &[], &[]),
            (Verdict::Undecided, "kept on 1 of 2 hosts (a), no verdict from 1 (b)".to_owned())
        );
    }

    #[test]
    fn a_host_without_promises_does_not_affect_the_verdict() {
        let ended =
            |node: &str, verdict, code| FleetHost { code: Some(code), ..host(node, Some(verdict)) };
        let of = |second: FleetHost| conclude(&[ended("a", Verdict::Kept, 0), second], &[], &[]);
        let (verdict, reason) = of(ended("b", Verdict::Void, 0));
        assert_eq!(verdict, Verdict::Kept, "{reason}");
        assert!(reason.contains("void on 1 of 2 hosts (b)"), "{reason}");
        assert_eq!(of(ended("b", Verdict::Void, 3)).0, Verdict::Void, "a check failed there");
        assert_eq!(of(ended("b", Verdict::Undecided, 3)).0, Verdict::Undecided);
        let silent = [ended("a", Verdict::Void, 0), ended("b", Verdict::Void, 0)];
        assert_eq!(conclude(&silent, &[], &[]).0, Verdict::Void);
        let undone = [ended("a", Verdict::Void, 0), host("b", None)];
        assert_eq!(conclude(&undone, &[], &[]).0, Verdict::Void);
    }

    #[test]
    fn a_trial_is_undecided_while_a_host_of_its_part_is_missing() {
        let of = |slice: Option<&str>| {
            let mut merge = FleetMerge::default();
            merge.add("a", &judgement(4, Verdict::Kept, 100.0, 0.25));
            let (mut trials, mut comparisons) = merge.finish();
            let part = |host: FleetHost, slice: Option<&str>| FleetHost {
                slice: slice.map(str::to_owned),
                ..host
            };
            let first = part(host("a", Some(Verdict::Kept)), slice.map(|_| "1/2"));
            let hosts = [first, part(host("b", None), slice)];
            leave_open(&hosts, &mut trials, &mut comparisons);
            (trials[0].verdict, trials[0].promises[0].verdict)
        };
        assert_eq!(of(None), (Verdict::Undecided, Verdict::Undecided));
        assert_eq!(of(Some("1/2")), (Verdict::Undecided, Verdict::Undecided));
        assert_eq!(of(Some("2/2")), (Verdict::Kept, Verdict::Kept), "of other trials");
    }

    #[test]
    fn many_promises_report_how_many_may_be_wrong_by_chance() {
        let hosts = [host("a", Some(Verdict::Kept))];
        let reason_for = |verdicts: &[(Verdict, f64)]| conclude(&hosts, &[], verdicts).1;
        let reason = reason_for(&[(Verdict::Kept, 0.9); 40]);
        assert!(
            reason.ends_with("at most 4.0 of the verdicts on 40 promises are expected to be wrong"),
            "{reason}"
        );
        // Each promise might have been decided wrongly, also those that were not decided.
        let reason =
            reason_for(&[[(Verdict::Broken, 0.95); 40], [(Verdict::Undecided, 0.95); 40]].concat());
        assert!(
            reason.ends_with("at most 4.0 of the verdicts on 80 promises are expected to be wrong"),
            "{reason}"
        );
        assert_eq!(reason_for(&[(Verdict::Kept, 0.95); 9]), "kept on 1 of 1 host");
    }

    #[test]
    fn one_host_with_a_broken_promise_breaks_it_for_the_fleet() {
        let hosts =
            [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Broken)), host("c", None)];
        let (verdict, reason) = conclude(&hosts, &[], &[]);
        assert_eq!(verdict, Verdict::Broken);
        assert!(reason.starts_with("broken on 1 of 3 hosts (b)"), "{reason}");
        assert_eq!(conclude(&[host("a", None)], &[], &[]).0, Verdict::Void);
    }
}
