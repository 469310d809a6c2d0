//! What all hosts together come to.

use assay_verdict::wording::{count, some_of};
use assay_verdict::{FleetComparison, FleetHost, FleetTrial, Verdict, wrong_by_chance};

/// From so many verdicts on it is said how many chance may make wrong.
const MANY: usize = 10;

/// The verdict of a fleet and the sentence that says why. `verdicts` are those of every promise on
/// every host, each with the confidence of the promise.
#[must_use]
pub fn conclude(
    hosts: &[FleetHost],
    comparisons: &[FleetComparison],
    verdicts: &[(Verdict, f64)],
) -> (Verdict, String) {
    // A run that promises nothing of single trials is void and ends with 0.
    let is_silent = |host: &FleetHost| host.found() == Some(Verdict::Void) && host.code == Some(0);
    let found: Vec<Verdict> = hosts.iter().filter_map(FleetHost::found).collect();
    let missing = named(hosts, |host| host.found().is_none());
    if found.is_empty() {
        return (Verdict::Void, format!("no host brought a verdict ({})", list(&missing)));
    }
    let mut parts = Vec::new();
    for one in [Verdict::Broken, Verdict::Void, Verdict::Undecided, Verdict::Kept] {
        let of = named(hosts, |host| host.found() == Some(one));
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
    // Where some hosts have a verdict, those that were promised nothing do not take part in it.
    let speaking = hosts.iter().filter(|host| !is_silent(host));
    let speaking: Vec<Verdict> = speaking.filter_map(FleetHost::found).collect();
    let all_silent = speaking.is_empty();
    let verdict = match Verdict::worst(if all_silent { found } else { speaking }) {
        Verdict::Kept if !missing.is_empty() || !torn.is_empty() => Verdict::Undecided,
        Verdict::Void if !torn.is_empty() && all_silent => Verdict::Undecided,
        worst => worst,
    };
    let parts = parts.join(", ");
    (verdict, [parts].into_iter().chain(by_chance(verdicts)).collect::<Vec<_>>().join("; "))
}

/// Each verdict holds at the confidence of its promise, and not all of them at once.
fn by_chance(verdicts: &[(Verdict, f64)]) -> Option<String> {
    let decided = verdicts.iter().filter(|(one, _)| matches!(one, Verdict::Kept | Verdict::Broken));
    let decided = decided.count();
    let wrong = wrong_by_chance(verdicts.iter().copied()).filter(|_| decided >= MANY)?;
    Some(format!("of {decided} decided promises chance alone may make {wrong:.1} wrong"))
}

/// Leaves open what was kept wherever it was looked at, while a host of the same part is missing.
pub fn leave_open(
    hosts: &[FleetHost],
    trials: &mut [FleetTrial],
    comparisons: &mut [FleetComparison],
) {
    let is_missed = |node: &str| {
        let part = hosts.iter().find(|host| host.node == node).map(|host| &host.slice);
        part.is_some_and(|part| {
            hosts.iter().any(|host| host.verdict.is_none() && host.slice == *part)
        })
    };
    let left = |verdict: Verdict, missed: bool| match verdict {
        Verdict::Kept if missed => Verdict::Undecided,
        other => other,
    };
    for trial in trials {
        for promise in &mut trial.promises {
            let missed = promise.hosts.iter().any(|host| is_missed(&host.node));
            promise.verdict = left(promise.verdict, missed);
        }
        let of_promises = trial.promises.iter().map(|promise| promise.verdict);
        trial.verdict = Verdict::worst(of_promises.chain([trial.verdict]));
    }
    for one in comparisons {
        let missed = one.hosts.iter().any(|host| is_missed(&host.node));
        one.verdict = left(one.verdict, missed);
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
    fn a_missing_host_leaves_open_what_the_others_kept() {
        let kept = [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Kept))];
        assert_eq!(conclude(&kept, &[], &[]), (Verdict::Kept, "kept on 2 of 2 hosts".to_owned()));
        let lost = [host("a", Some(Verdict::Kept)), host("b", None)];
        assert_eq!(
            conclude(&lost, &[], &[]),
            (Verdict::Undecided, "kept on 1 of 2 hosts (a), no verdict from 1 (b)".to_owned())
        );
    }

    #[test]
    fn a_host_whose_part_promises_nothing_says_nothing_against_the_others() {
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
    fn a_trial_is_left_open_while_a_host_of_its_part_is_missing() {
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
    fn many_promises_say_how_many_chance_may_make_wrong() {
        let hosts = [host("a", Some(Verdict::Kept))];
        let said = |verdicts: &[(Verdict, f64)]| conclude(&hosts, &[], verdicts).1;
        let reason = said(&[(Verdict::Kept, 0.9); 40]);
        assert!(
            reason.ends_with("of 40 decided promises chance alone may make 4.0 wrong"),
            "{reason}"
        );
        // Who accuses spends a fifth of the error; what is open is never wrong.
        let reason =
            said(&[[(Verdict::Broken, 0.95); 40], [(Verdict::Undecided, 0.95); 40]].concat());
        assert!(
            reason.ends_with("of 40 decided promises chance alone may make 0.4 wrong"),
            "{reason}"
        );
        assert_eq!(said(&[(Verdict::Kept, 0.95); 9]), "kept on 1 of 1 host");
    }

    #[test]
    fn one_host_that_broke_the_promise_breaks_it_whatever_is_missing() {
        let hosts =
            [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Broken)), host("c", None)];
        let (verdict, reason) = conclude(&hosts, &[], &[]);
        assert_eq!(verdict, Verdict::Broken);
        assert!(reason.starts_with("broken on 1 of 3 hosts (b)"), "{reason}");
        assert_eq!(conclude(&[host("a", None)], &[], &[]).0, Verdict::Void);
    }
}
