//! Limits that were not tested, since groups stayed below them.

use crate::verdict::wording::{count, rate};
use crate::verdict::{GroupJudgement, Verdict};
use assay_record::run_folder::{PromiseRecord, Reference};
use assay_record::terms::{Measure, Side};

use crate::estimates::Estimates;
use crate::subject::Subject;
use crate::throttle;

/// Why a limit was not tested; `None` where it was, or nothing limits.
pub(super) fn idle(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    numbers: &Estimates,
) -> Option<String> {
    let found = numbers.on_average(promise.within);
    if promise.is.kind().side() != Side::Above || found == Verdict::Broken {
        return None;
    }
    let near = 1.0 - promise.within.max(0.1);
    let used = |group: &GroupJudgement| {
        format!("{} over {}", rate(measure, group.share), count(numbers.repeats, "start"))
    };
    match promise.is.to() {
        Reference::Value(bound) if found == Verdict::Kept => {
            let groups = numbers.groups.iter();
            let highest = groups.max_by(|a, b| a.share.total_cmp(&b.share))?;
            (highest.share < bound * near).then(|| {
                format!(
                    "the limit of {} never bound: no group came near it: `{}` used {}",
                    rate(measure, bound),
                    highest.name,
                    used(highest)
                )
            })
        }
        Reference::Knob(knob) => {
            // A quota that ran out in no period did not bind, whatever the use: the kernel counts that, which needs
            // no interval. Otherwise one group that did not come near its own limit is enough.
            let free = |group: &&GroupJudgement| {
                measure.is_cpu() && throttled(subject, &group.name).is_some_and(|n| n <= 0.0)
            };
            let far = |group: &&GroupJudgement| {
                found == Verdict::Kept && group.share < group.expected_share * near
            };
            let groups = || numbers.groups.iter();
            let group = groups().find(free).or_else(|| groups().find(far))?;
            let periods = match throttled(subject, &group.name) {
                Some(periods) if periods <= 0.0 => ", and was throttled in no period",
                _ => "",
            };
            Some(format!(
                "the limit of `{}` never bound: it used {} where `{knob}` allows {}{periods}",
                group.name,
                used(group),
                rate(measure, group.expected_share)
            ))
        }
        _ => None,
    }
}

/// Periods in which the quota of a group ran out, over all repeats; `None` where one of them has no
/// counter.
fn throttled(subject: &Subject<'_>, name: &str) -> Option<f64> {
    let each = subject.repeats.iter().map(|repeat| {
        let table = repeat.table("throttle").ok()?;
        Some(throttle::counts(&table, repeat, name)?.throttled)
    });
    each.sum()
}
