//! C-WEIGHT-TRANSLATED: the written values have other proportions than the requested ones. systemd
//! writes 100, 109, 127 and 163 for 100, 200, 400 and 800 (systemd#27622).

use std::collections::BTreeMap;

use assay_run_folder::PromiseRecord;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, FoundBy};
use assay_verdict::wording::some_of;

use super::Suspicion;
use super::fit::Fit;
use crate::estimates::Estimates;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-WEIGHT-TRANSLATED",
    what: "The values written into the kernel's files have other proportions than the requested ones.",
    found_by: FoundBy::Suspicion,
    fingerprint: "Requested and written values of the manifest are in different proportions, by 2 % or more.",
    confirm: "Write the kernel's own file directly: shares follow what it reads.",
    tests: &[],
    effects: &[],
    remedy: "Set the file itself (`assay host` says which), or judge by what was read back, as Assay does.",
    source: "systemd#27622 (200:300 became 109:118), systemd#22897",
};

const CODE: &str = ENTRY.code;

/// Proportions closer than this are equal: files hold whole numbers.
const SAME: f64 = 0.02;

/// Compares requested and written values of the knob that shares follow, if there is one.
pub(super) fn suspect(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    numbers: &Estimates,
) -> Option<Suspicion> {
    let knob = promise.is.divided_by()?;
    let mut factors: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for group in &subject.trial.groups {
        for set in group.knobs.iter().filter(|set| set.knob == knob) {
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
    let asked: Option<Vec<f64>> = numbers.names().map(|name| asked(subject, name, knob)).collect();
    let fit = asked.and_then(|asked| Fit::new(numbers, &asked));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Some(Suspicion::Open(format!(
            "{CODE}: the promise follows the written values, and the measured shares do not \
             follow the requested ones either: {text}"
        )));
    };
    Some(Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: the written values have other proportions than the \
                      requested ones"
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
