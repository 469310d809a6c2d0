//! Suspicions about iocost: a wrong model of the disk and, before 5.10, light groups that could not
//! donate their unused share (f1de2439ec43).

use assay_knob::KernelVersion;
use assay_verdict::Cause;
use assay_verdict::wording::percent;

use super::fit::{Fit, first_come_first_served};
use super::{Strength, Suspicion};
use crate::promise::{Numbers, Subject};
use crate::queue::Queue;
use crate::repeat::Repeat;

const MODEL: &str = "C-IOCOST-MODEL";

/// Groups below this share could not donate before 5.10.
const DONATES: f64 = 0.05;

/// All suspicions about iocost; none where it does not divide the disk.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Numbers,
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
    numbers: &Numbers,
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
            "{MODEL}: iocost {configured}; {done} requests a second were done, but shares do \
             not follow the requests outstanding, as they would without throttling"
        ));
    };
    Suspicion::Fits(
        Cause {
            code: MODEL.to_owned(),
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

fn donation(subject: &Subject<'_>, numbers: &Numbers) -> Suspicion {
    let code = "C-IOCOST-DONATION";
    let release = &subject.host.kernel;
    let least = numbers.expected.iter().map(|expected| expected.share).fold(1.0, f64::min);
    // A light group keeps what it cannot donate.
    let each = numbers.expected.iter().zip(&numbers.seen);
    let lightest_gained = each
        .min_by(|a, b| a.0.share.total_cmp(&b.0.share))
        .is_some_and(|(expected, seen)| seen.value > expected.share);
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
