//! The overall verdict of a fleet.

use assay_judge::verdict::wording::{count, some_of};
use assay_judge::verdict::{FleetComparison, FleetHost, FleetTrial, Verdict};

/// The verdict of a fleet and the sentence that explains it.
#[must_use]
pub fn conclude(hosts: &[FleetHost]) -> (Verdict, String) {
    let all_verdicts: Vec<Verdict> = hosts.iter().filter_map(|host| host.verdict).collect();
    let missing = named(hosts, |host| host.verdict.is_none());
    if hosts.is_empty() {
        return (Verdict::Void, "no run was taken: the fleet has no host yet".to_owned());
    }
    if all_verdicts.is_empty() {
        return (Verdict::Void, format!("no host has a verdict ({})", list(&missing)));
    }
    let mut parts = Vec::new();
    for one in [Verdict::Broken, Verdict::Void, Verdict::Undecided, Verdict::Kept] {
        let of = named(hosts, |host| host.verdict == Some(one));
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
    let verdict = match Verdict::worst(all_verdicts) {
        Verdict::Kept if !missing.is_empty() => Verdict::Undecided,
        worst => worst,
    };
    (verdict, parts.join(", "))
}

/// Changes kept verdicts to undecided if a host is missing.
pub fn leave_open(
    hosts: &[FleetHost],
    trials: &mut [FleetTrial],
    comparisons: &mut [FleetComparison],
) {
    if hosts.iter().all(|host| host.verdict.is_some()) {
        return;
    }
    let promises = trials.iter_mut().flat_map(|trial| {
        trial.promises.iter_mut().map(|one| &mut one.verdict).chain([&mut trial.verdict])
    });
    for verdict in promises.chain(comparisons.iter_mut().map(|one| &mut one.verdict)) {
        if *verdict == Verdict::Kept {
            *verdict = Verdict::Undecided;
        }
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
    use super::*;
    use crate::merge::FleetMerge;
    use crate::merge::tests::judgement;

    fn host(node: &str, verdict: Option<Verdict>) -> FleetHost {
        FleetHost { node: node.to_owned(), verdict, ..crate::collect::blank() }
    }

    #[test]
    fn a_missing_host_leaves_kept_promises_undecided() {
        let kept = [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Kept))];
        assert_eq!(conclude(&kept), (Verdict::Kept, "kept on 2 of 2 hosts".to_owned()));
        let lost = [host("a", Some(Verdict::Kept)), host("b", None)];
        assert_eq!(
            conclude(&lost),
            (Verdict::Undecided, "kept on 1 of 2 hosts (a), no verdict from 1 (b)".to_owned())
        );
    }

    #[test]
    fn a_trial_is_undecided_while_a_host_is_missing() {
        let mut merge = FleetMerge::default();
        merge.add("a", &judgement(4, Verdict::Kept, 100.0, 0.25));
        let (mut trials, mut comparisons) = merge.finish();
        leave_open(&[host("a", Some(Verdict::Kept))], &mut trials, &mut comparisons);
        assert_eq!(trials[0].verdict, Verdict::Kept);
        leave_open(&[host("b", None)], &mut trials, &mut comparisons);
        assert_eq!(trials[0].verdict, Verdict::Undecided);
        assert_eq!(trials[0].promises[0].verdict, Verdict::Undecided);
    }

    #[test]
    fn one_host_with_a_broken_promise_breaks_it_for_the_fleet() {
        let hosts =
            [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Broken)), host("c", None)];
        let (verdict, reason) = conclude(&hosts);
        assert_eq!(verdict, Verdict::Broken);
        assert!(reason.starts_with("broken on 1 of 3 hosts (b)"), "{reason}");
        assert_eq!(conclude(&[host("a", None)]).0, Verdict::Void);
    }
}
