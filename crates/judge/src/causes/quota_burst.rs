//! C-QUOTA-BURST: a CPU may use up to a millisecond of its unused quota slice in the next period
//! (Documentation/scheduler/sched-bwc.rst), so a group may exceed its quota by that much for each
//! CPU and period.

use assay_facts::Available;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};

use super::{Strength, Suspicion};
use crate::cpus::Shared;
use crate::estimates::Estimates;
use crate::knob_value;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-QUOTA-BURST",
    what: "Each CPU may carry up to a millisecond of unused quota into the next period, so that a group may use a little more than its quota.",
    found_by: FoundBy::Suspicion,
    fingerprint: "A group above its quota by no more than a millisecond for each CPU and period.",
    confirm: "A longer period (`cpu.max` with 500 ms): the excess falls in proportion.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect {
        of: &["one-cpu"],
        expect: Expect::FALLS,
        why: "one CPU carries less than two",
    }],
    remedy: "A longer period, fewer CPUs, or a margin that allows for it.",
    source: "Documentation/scheduler/sched-bwc.rst: slices of unused runtime expire no longer since 5.4",
};

const CODE: &str = ENTRY.code;

/// Seconds that a CPU may carry over to the next period (min_cfs_rq_runtime).
const CARRIED_S: f64 = 0.001;

/// Default period of the kernel in seconds.
const USUAL_PERIOD_S: f64 = 0.1;

/// Examines the group that exceeds its quota most.
pub(super) fn suspect(
    subject: &Subject<'_>,
    repeat: &Repeat<'_>,
    knob: &str,
    numbers: &Estimates,
) -> Suspicion {
    let above =
        |index: &usize| numbers.groups[*index].share - numbers.groups[*index].expected_share;
    let most = (0..numbers.groups.len()).max_by(|a, b| above(a).total_cmp(&above(b)));
    let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok().flatten();
    let (Some(most), Some(shared)) = (most, shared) else {
        return Suspicion::NotExamined(format!("{CODE}: the CPUs of the groups are not known"));
    };
    let period = period_s(repeat, &numbers.groups[most].name, knob).unwrap_or(USUAL_PERIOD_S);
    let carried = shared.count() * CARRIED_S / period;
    let text = format!(
        "`{}` used {:.4} CPUs more than its quota; {} may carry {carried:.4} over the end of each \
         period of {:.0} ms",
        numbers.groups[most].name,
        above(&most),
        shared.label(),
        period * 1e3
    );
    if above(&most) > 1.1 * carried {
        return Suspicion::RuledOut(format!("{CODE}: {text}"));
    }
    Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: each CPU carries unused quota over the end of a period".to_owned(),
            evidence: vec![text],
            strength: None,
        },
        Strength::Fair,
    )
}

/// The period of a group's quota: from its own file on v1, the second word on v2.
fn period_s(repeat: &Repeat<'_>, group: &str, knob: &str) -> Option<f64> {
    let reading = knob_value::find(repeat.record, group, knob)?;
    let text = match (reading.also.get("cpu.cfs_period_us"), &reading.at_start) {
        (Some(Available::Value(period)), _) => period.trim(),
        (_, Available::Value(both)) => both.split_whitespace().nth(1)?,
        _ => return None,
    };
    text.parse::<f64>().ok().filter(|us| *us > 0.0).map(|us| us * 1e-6)
}
