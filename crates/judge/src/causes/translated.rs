//! C-WEIGHT-TRANSLATED: what stands in the kernel's file is in another proportion than what was
//! asked for. systemd writes 100, 109, 127 and 163 for 100, 200, 400 and 800 (systemd#27622).

use std::collections::BTreeMap;

use assay_run_folder::{PromiseRecord, RelationRecord};

use super::Suspicion;
use super::fit::Fit;
use crate::promise::{Numbers, Subject};
use assay_verdict::Cause;
use assay_verdict::wording::some_of;

const CODE: &str = "C-WEIGHT-TRANSLATED";

/// Proportions closer than this are the same: files hold whole numbers.
const SAME: f64 = 0.02;

/// Compares asked and written values of the knob that shares follow; nothing where it has none.
pub(super) fn suspect(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    numbers: &Numbers,
) -> Option<Suspicion> {
    let RelationRecord::Proportional(knob) = &promise.is else { return None };
    let mut factors: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for group in &subject.trial.groups {
        for set in group.knobs.iter().filter(|set| set.knob == *knob) {
            let asked: f64 = set.asked.trim().parse().ok()?;
            let written: f64 = set.written.split_whitespace().last()?.parse().ok()?;
            let text = format!("{} became {} in `{}`", set.asked, set.written, set.file);
            factors.insert(set.asked.clone(), (written / asked, text));
        }
    }
    let all = || factors.values().map(|(factor, _)| *factor);
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let texts: Vec<String> = factors.values().map(|(_, text)| text.clone()).collect();
    let text = some_of(&texts, ", ");
    if most / least - 1.0 <= SAME {
        return Some(Suspicion::RuledOut(format!("{CODE}: {text}")));
    }
    let asked: Option<Vec<f64>> =
        numbers.names.iter().map(|name| asked(subject, name, knob)).collect();
    let fit = asked.and_then(|asked| Fit::of(numbers, &asked));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Some(Suspicion::Open(format!(
            "{CODE}: what is promised follows what was written, and what was seen is not what was \
             asked for either: {text}"
        )));
    };
    Some(Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary:
                "suspected: the values that were written are in another proportion than those \
                      that were asked for"
                    .to_owned(),
            evidence: vec![text],
            strength: None,
        },
        strength,
    ))
}

fn asked(subject: &Subject<'_>, name: &str, knob: &str) -> Option<f64> {
    let group = subject.trial.groups.iter().find(|group| group.name == name)?;
    group.knobs.iter().find(|set| set.knob == knob)?.asked.trim().parse().ok()
}
