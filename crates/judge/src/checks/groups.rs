//! Whether the groups competed at all: they ran, started together, and have their knobs where they compete.

use std::collections::{BTreeMap, BTreeSet};

use crate::verdict::wording::{count, percent, some_of};
use assay_host::facts::Available;

use super::{Evidence, Finding, Rule, Scope};
use crate::queue::is_measured;
use crate::repeat::Repeat;

/// `workloads`: all workloads of the measured groups ran through the window.
///
/// A failed workload takes its demand away, which changes the shares of all others.
pub(super) const WORKLOADS: Rule = Rule::each("workloads", Scope::All, ran_through).proves(
    "C-WORKLOAD",
    "a workload of a measured group did not run through the window, so that the others shared what it \
     left",
);

fn ran_through(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut failed = Vec::new();
    let mut ran = 0;
    let measured = evidence.trial.groups.iter().filter(|group| is_measured(group));
    for (group, workload) in
        measured.flat_map(|group| group.workloads.iter().map(move |workload| (group, workload)))
    {
        match repeat.result(group, workload).map(|result| &result.failure) {
            Some(None) => ran += 1,
            Some(Some(failure)) => {
                failed.push(format!("`{}` of `{}`: {failure}", workload.name, group.name));
            }
            None => failed.push(format!("`{}` of `{}` left no result", workload.name, group.name)),
        }
    }
    Finding::unless(&failed, || format!("{} ran through the window", count(ran, "workload")))
}

/// `alone`: shares need at least two groups.
///
/// A single group gets everything, whatever its weight: a promise of shares would be kept by
/// arithmetic and not by the kernel. `None` where there are several groups, or no shares.
pub(super) const ALONE: Rule = Rule::once("alone", Scope::Shares, alone)
    .proves("C-ALONE", "a single group gets everything, whatever its weight");

fn alone(evidence: &Evidence<'_>) -> Option<Finding> {
    let [group] = evidence.groups else { return None };
    Some(Finding::new(
        false,
        format!("`{group}` is the only measured group and shares with no other"),
    ))
}

/// `level`: the knob is set where the groups compete.
///
/// A weight divides what its group's parent gets among siblings. Set on a group inside the
/// competing one it divides nothing, which is how containers got equal shares whatever weight they
/// were given (podman#24207, crun#1572).
///
/// Reported where a promise follows a knob that competing groups lack and groups inside them have.
pub(super) const LEVEL: Rule = Rule::once("level", Scope::Shares, level).proves(
    "C-WRONG-LEVEL",
    "the knob is set on groups inside those that compete, where it divides nothing",
);

fn level(evidence: &Evidence<'_>) -> Option<Finding> {
    let knob = evidence.promises.iter().find_map(|(_, relation)| relation.divided_by())?;
    let wrong = misplaced(evidence, knob);
    let text = format!("`{knob}` divides nothing where it is set: {}", some_of(&wrong, "; "));
    (!wrong.is_empty()).then(|| Finding::new(false, text))
}

/// Siblings without the knob that contain groups with it.
fn misplaced(evidence: &Evidence<'_>, knob: &str) -> Vec<String> {
    let has = |name: &str| {
        let mut groups = evidence.trial.groups.iter();
        let group = groups.find(|group| group.name == name);
        group.is_some_and(|group| group.knobs.iter().any(|one| one.knob == knob))
    };
    let mut siblings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in evidence.groups {
        for (end, _) in name.match_indices('/').chain([(name.len(), "")]) {
            let child = &name[..end];
            let parent = child.rfind('/').map_or("", |cut| &child[..cut]);
            siblings.entry(parent).or_default().insert(child);
        }
    }
    let competing = siblings.values().filter(|children| children.len() > 1);
    competing
        .flatten()
        .filter(|child| !has(child))
        .filter_map(|child| {
            let inside = format!("{child}/");
            let mut groups = evidence.trial.groups.iter().map(|group| group.name.as_str());
            let below = groups.find(|name| name.starts_with(&inside) && has(name))?;
            Some(format!("`{child}` competes and has none, `{below}` inside it has one"))
        })
        .collect()
}

/// Allowed delay of the last group's first I/O after the first group's, relative to the window.
const MOST_SKEW: f64 = 0.05;

/// `start`: the groups started together.
///
/// The window starts when the last group is released, so a late release costs nothing; a late first
/// request does, because the group had no demand until then.
pub(super) const START: Rule = Rule::each("start", Scope::All, together).proves(
    "C-LATE-START",
    "the groups did not start together, so that the first had the resource to themselves",
);

fn together(_: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let record = repeat.record;
    let released = record.all_released_ns.saturating_sub(record.released_ns) as f64 * 1e-6;
    match &record.start_skew_s {
        Available::NotAvailable(why) => {
            let mut finding = Finding::unverified(why);
            finding.evidence =
                format!("{}; all were released within {released:.1} ms", finding.evidence);
            finding
        }
        Available::Value(skew) => Finding::new(
            *skew <= MOST_SKEW * repeat.window_s(),
            format!(
                "all were released within {released:.1} ms and did their first I/O within {:.1} ms \
                 (at most {} of the window allowed)",
                skew * 1000.0,
                percent(MOST_SKEW)
            ),
        ),
    }
}
