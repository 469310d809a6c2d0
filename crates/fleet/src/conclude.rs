//! What all hosts together come to.

use assay_judge::{FleetHost, Verdict};

/// The verdict of a fleet and the sentence that says why.
#[must_use]
pub fn conclude(hosts: &[FleetHost]) -> (Verdict, String) {
    let verdicts: Vec<Verdict> = hosts.iter().filter_map(|host| host.verdict).collect();
    let missing = named(hosts, |host| host.verdict.is_none());
    if verdicts.is_empty() {
        let reason = format!("no host brought a verdict ({})", list(&missing));
        return (Verdict::Void, reason);
    }
    let mut parts = Vec::new();
    for one in [Verdict::Broken, Verdict::Void, Verdict::Undecided, Verdict::Kept] {
        let of = named(hosts, |host| host.verdict == Some(one));
        if !of.is_empty() {
            let all = of.len() == hosts.len();
            let which = if all { String::new() } else { format!(" ({})", list(&of)) };
            parts.push(format!("{} on {} of {}{which}", one.word(), of.len(), plural(hosts.len())));
        }
    }
    if !missing.is_empty() {
        parts.push(format!("no verdict from {} ({})", missing.len(), list(&missing)));
    }
    let worst = Verdict::worst(verdicts);
    let verdict = match worst {
        Verdict::Kept if !missing.is_empty() => Verdict::Undecided,
        other => other,
    };
    let mut reason = parts.join(", ");
    // Each host's verdict holds at the confidence of its promises, and not all of them at once.
    let decided = hosts.iter().filter_map(|host| host.verdict);
    let decided = decided.filter(|one| matches!(one, Verdict::Kept | Verdict::Broken)).count();
    if decided >= MANY {
        reason = format!(
            "{reason}; at 95 % confidence chance alone may make {:.1} of the {decided} decided wrong",
            0.05 * decided as f64
        );
    }
    (verdict, reason)
}

/// From so many verdicts on it is said how many chance may make wrong.
const MANY: usize = 10;

fn named(hosts: &[FleetHost], which: impl Fn(&FleetHost) -> bool) -> Vec<&str> {
    let mut names: Vec<&str> =
        hosts.iter().filter(|host| which(host)).map(|host| host.node.as_str()).collect();
    names.dedup();
    names
}

fn list(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    match names.len().checked_sub(SHOWN) {
        Some(rest) if rest > 0 => format!("{} and {rest} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

fn plural(count: usize) -> String {
    if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_judge::HostState;

    use super::*;

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
            restored: None,
            restored_first: Vec::new(),
            traits: BTreeMap::new(),
        }
    }

    #[test]
    fn a_missing_host_leaves_open_what_the_others_kept() {
        let kept = [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Kept))];
        assert_eq!(conclude(&kept), (Verdict::Kept, "kept on 2 of 2 hosts".to_owned()));
        let lost = [host("a", Some(Verdict::Kept)), host("b", None)];
        assert_eq!(
            conclude(&lost),
            (Verdict::Undecided, "kept on 1 of 2 hosts (a), no verdict from 1 (b)".to_owned())
        );
    }

    #[test]
    fn many_hosts_say_how_many_chance_may_make_wrong() {
        let hosts: Vec<FleetHost> =
            (0..40).map(|one| host(&format!("n{one}"), Some(Verdict::Kept))).collect();
        let (_, reason) = conclude(&hosts);
        assert!(reason.ends_with("make 2.0 of the 40 decided wrong"), "{reason}");
    }

    #[test]
    fn one_host_that_broke_the_promise_breaks_it_whatever_is_missing() {
        let hosts =
            [host("a", Some(Verdict::Kept)), host("b", Some(Verdict::Broken)), host("c", None)];
        let (verdict, reason) = conclude(&hosts);
        assert_eq!(verdict, Verdict::Broken);
        assert!(reason.starts_with("broken on 1 of 3 hosts (b)"), "{reason}");
        assert_eq!(conclude(&[host("a", None)]).0, Verdict::Void);
    }
}
