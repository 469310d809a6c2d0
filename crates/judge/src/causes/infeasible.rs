//! C-INFEASIBLE: a group has too few threads for its weight, so that the weights alone promise what
//! no scheduler can give (Chandra, Adler, Goyal and Shenoy 2000).

use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::{percent, some_of};
use assay_verdict::{Cause, GroupJudgement};

use super::Suspicion;
use super::fit::Fit;
use crate::estimates::Estimates;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-INFEASIBLE",
    what: "A group has too few threads for its weight, and no scheduler can give it more CPUs than it has threads.",
    found_by: FoundBy::Suspicion,
    fingerprint: "The weight's part of the CPUs is more than the group's threads, and shares are nearer to the weights than to the promise, which is the max-min fair division instead.",
    confirm: "As many threads in each group as there are CPUs: shares follow the weights alone.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect {
        of: &["one-cpu"],
        expect: Expect::Vanishes,
        why: "on one CPU weights are kept exactly",
    }],
    remedy: "More threads in the heavy groups, or fewer CPUs (`cpuset.cpus`).",
    source: "Chandra, Adler, Goyal and Shenoy 2000: infeasible weights",
};

const CODE: &str = ENTRY.code;

/// Lists the groups whose weight exceeds what their threads can use. The promise already allows for
/// it, so it explains a deviation from the weights, and only weakly one from the promise.
pub(super) fn suspect(numbers: &Estimates) -> Suspicion {
    let short = |group: &GroupJudgement| {
        let promised = group.expected_share;
        let weighed = group.share_by_weight.filter(|weighed| *weighed > promised)?;
        Some(format!(
            "`{}`: {} by weight, {} for its threads, {} measured",
            group.name,
            percent(weighed),
            percent(promised),
            percent(group.share)
        ))
    };
    let few: Vec<String> = numbers.groups.iter().filter_map(short).collect();
    if few.is_empty() {
        return Suspicion::RuledOut(format!(
            "{CODE}: every group has enough threads for its weight"
        ));
    }
    let by_weight: Vec<f64> = numbers.by_weight().collect();
    let Some(strength) = Fit::new(numbers, &by_weight).and_then(Fit::strength) else {
        return Suspicion::Open(format!(
            "{CODE}: the promise already allows for it: {}",
            some_of(&few, "; ")
        ));
    };
    Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: a group has too few threads for its weight".to_owned(),
            evidence: vec![some_of(&few, "; ")],
            strength: None,
        },
        strength,
    )
}
