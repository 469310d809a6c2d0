//! Suspicions about iocost: a wrong model of the disk and, before 5.10, light groups that could not
//! donate their unused share (f1de2439ec43).

use assay_knob::KernelVersion;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::Queue;
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const MODEL: CauseEntry = CauseEntry {
    code: "C-IOCOST-MODEL",
    what: "iocost divides time that it computes from a model of the disk; where the model is wrong, time is not what the disk takes.",
    found_by: FoundBy::Suspicion,
    fingerprint: "iocost divides the disk (io.weight on cgroup v2 without bfq) and shares are broken; total throughput departs from its configuration.",
    confirm: "Another model (`io.cost.model`, rates times 4 and by 4) with `io.cost.qos` min = max: the error moves.",
    tests: &[],
    effects: &[PredictedEffect {
        of: &["scheduler"],
        expect: Expect::Vanishes,
        why: "this scheduler obeys the weights by itself",
    }],
    remedy: "Measure the disk and write its model: `assay tune --iocost DISK` prints the line.",
    source: "Documentation/admin-guide/cgroup-v2.rst: io.cost.model; Heo et al., ASPLOS 2022",
};

pub(super) const DONATION: CauseEntry = CauseEntry {
    code: "C-IOCOST-DONATION",
    what: "Before 5.10 a group with less than about 5 % of the weights cannot donate what it does not use, so that the disk idles as groups multiply.",
    found_by: FoundBy::Suspicion,
    fingerprint: "iocost divides the disk, the kernel is older than 5.10 and the lightest share below 5 %; total throughput falls with groups while ratios hold.",
    confirm: "The same on 5.10: throughput returns.",
    tests: &[],
    effects: &[PredictedEffect {
        of: &["scheduler"],
        expect: Expect::Vanishes,
        why: "this scheduler obeys the weights by itself",
    }],
    remedy: "A kernel from 5.10 on, or fewer groups.",
    source: "f1de2439ec43 (5.10)",
};

const CODE: &str = MODEL.code;

/// Groups below this share could not donate before 5.10.
const DONATES: f64 = 0.05;

/// All suspicions about iocost; none where it does not divide the disk.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Vec<Suspicion> {
    let knobs = subject.trial.groups.iter().flat_map(|group| &group.knobs);
    let divides = knobs.into_iter().any(|knob| knob.obeyed_by.as_deref() == Some("iocost"));
    if !divides {
        return Vec::new();
    }
    vec![model(subject, queue, repeat, numbers), donation(subject, numbers)]
}

fn model(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
) -> Suspicion {
    let done = repeat.table("io").ok().and_then(|table| {
        let each = subject.groups.iter().map(|group| {
            let grown = repeat.grown(&table, group, &["read_ios", "write_ios"]).ok();
            grown.map(|(grown, seconds)| grown / seconds)
        });
        each.sum::<Option<f64>>()
    });
    let done = done.map_or_else(|| "?".to_owned(), |rate| format!("{rate:.0}"));
    let configured = match subject.configured_iops {
        Some(configured) => format!("was configured with {configured:.0} random reads a second"),
        None => "was not configured by this run".to_owned(),
    };
    let fit = Fit::new(numbers, &first_come_first_served(subject, numbers));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Suspicion::Open(format!(
            "{CODE}: iocost {configured}; {done} requests a second were done, but shares do \
             not follow the requests outstanding, as they would without throttling"
        ));
    };
    Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: iocost's model of the disk does not match the disk".to_owned(),
            evidence: vec![format!(
                "iocost divides {} and {configured}; {done} requests a second were done",
                queue.device
            )],
            strength: None,
        },
        strength.min(Strength::Fair),
    )
}

fn donation(subject: &Subject<'_>, numbers: &Estimates) -> Suspicion {
    let code = DONATION.code;
    let release = &subject.host.kernel;
    let least = numbers.promised().fold(1.0, f64::min);
    // A light group keeps what it cannot donate.
    let groups = numbers.groups.iter();
    let lightest_gained = groups
        .min_by(|a, b| a.expected_share.total_cmp(&b.expected_share))
        .is_some_and(|lightest| lightest.share > lightest.expected_share);
    let text = format!("the lightest share is {} on {release}", percent(least));
    match KernelVersion::parse(release) {
        None => Suspicion::NotExamined(format!("{code}: {text}, which is not a version")),
        Some(version) if version >= KernelVersion::new(5, 10) || least >= DONATES => {
            Suspicion::RuledOut(format!("{code}: {text}"))
        }
        Some(_) if !lightest_gained => Suspicion::Open(format!("{code}: {text}, and did not gain")),
        Some(_) => Suspicion::Fits(
            Cause {
                code: code.to_owned(),
                summary:
                    "suspected: before 5.10 iocost does not let light groups donate what they do \
                          not use"
                        .to_owned(),
                evidence: vec![text],
                strength: None,
            },
            Strength::Fair,
        ),
    }
}
