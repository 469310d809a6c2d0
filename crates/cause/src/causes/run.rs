//! Causes in what was set, how long it ran, and what the groups asked for.

use std::collections::BTreeMap;

use assay_judge::cpus;
use assay_judge::cpus::Shared;
use assay_judge::estimates::Estimates;
use assay_judge::subject::Subject;
use assay_judge::verdict::wording::{count, percent, rate, some_of};
use assay_judge::verdict::{Cause, Strength};
use assay_record::terms::Side;

use super::fit::Fit;
use super::{CauseEntry, Examined, FoundBy, Outcome, PredictedEffect, Suspect, Symptom};

/// The written values have other proportions than the requested ones. systemd
/// writes 100, 109, 127 and 163 for 100, 200, 400 and 800 (systemd#27622).
pub(super) const TRANSLATED: CauseEntry = CauseEntry {
    code: "C-WEIGHT-TRANSLATED",
    what: "The values written into the kernel's files have other proportions than the requested ones.",
    fingerprint: "Requested and written values of the manifest are in different proportions, by 2 % or more.",
    confirm: "Write the kernel's own file directly: shares follow what it reads.",
    remedy: "Set the file itself (`assay host` says which), or judge by what was read back, as Assay does.",
    source: "systemd#27622 (200:300 became 109:118), systemd#22897",
    ..CauseEntry::suspected(Suspect::Shares(translated))
};

/// Proportions closer than this are equal: files hold whole numbers.
const SAME: f64 = 0.02;

/// Compares requested and written values of the knob that shares follow, if there is one.
fn translated(symptom: &Symptom<'_, '_>) -> Examined {
    let Some((least, most, text)) = translations(symptom) else { return Ok(Outcome::Unconcerned) };
    if most / least - 1.0 <= SAME {
        return Ok(Outcome::RuledOut(text));
    }
    let asked: Option<Vec<f64>> = symptom.names.iter().map(|name| asked(symptom, name)).collect();
    let fit = asked.and_then(|asked| symptom.fit(&asked));
    let Some(strength) = fit.and_then(Fit::strength) else {
        return Ok(Outcome::Open(format!(
            "the promise follows the written values, and the measured shares do not follow the requested ones either: \
             {text}"
        )));
    };
    let what = "the written values have other proportions than the requested ones";
    Ok(Outcome::Fits(strength, what, vec![text]))
}

/// The smallest and the largest factor between requested and written values, and all of them as text.
fn translations(symptom: &Symptom<'_, '_>) -> Option<(f64, f64, String)> {
    let knob = symptom.promise.is.divided_by()?;
    let mut factors: BTreeMap<String, (f64, String)> = BTreeMap::new();
    let knobs = symptom.subject.trial.groups.iter().flat_map(|group| &group.knobs);
    for set in knobs.filter(|set| set.knob == knob) {
        let asked: f64 = set.asked.trim().parse().ok()?;
        let written: f64 = set.written.split_whitespace().last()?.parse().ok()?;
        let text = format!("{} became {} in `{}`", set.asked, set.written, set.file);
        factors.insert(set.asked.clone(), (written / asked, text));
    }
    let all = || factors.values().map(|(factor, _)| *factor);
    let texts: Vec<String> = factors.values().map(|(_, text)| text.clone()).collect();
    Some((all().reduce(f64::min)?, all().reduce(f64::max)?, some_of(&texts, ", ")))
}

fn asked(symptom: &Symptom<'_, '_>, name: &str) -> Option<f64> {
    let knob = symptom.promise.is.divided_by()?;
    let group = symptom.subject.trial.groups.iter().find(|group| group.name == name)?;
    group.knobs.iter().find(|set| set.knob == knob)?.asked.trim().parse().ok()
}

/// The run holds too few service slices of the lightest group.
///
/// A group that is served in slices of `q` seconds is ahead or behind by one slice at any instant,
/// which is `q / (T share)` of what it got in `T` seconds. The interval of a share covers that, so
/// no verdict depends on it; the cause is reported where it exceeds the margin.
pub(super) const SHORT_RUN: CauseEntry = CauseEntry {
    code: "C-SHORT-RUN",
    what: "The run holds too few service slices of the lightest group, which is ahead or behind by one at any instant.",
    fingerprint: "A service slice (125 ms of BFQ, a tick of a CPU) is more than the margin of what the lightest group is promised in the window.",
    confirm: "A run of four times the length: the error falls to a quarter, without a bias over repeats. It leaves promises undecided and breaks none, since intervals cover it.",
    tests: &["longer"],
    effects: &[PredictedEffect::unrelated(&["requests"])],
    remedy: "A longer run (`at_most`), or shorter slices (`iosched/max_budget`).",
    source: "Relative error q / (T share) of any server with time slices",
    ..CauseEntry::found_by(FoundBy::Suspicion)
};

/// Compares one slice of the lightest group with what it got; `None` where it is small.
pub(super) fn short_run(symptom: &Symptom<'_, '_>, slice_s: f64) -> Option<Cause> {
    let numbers = symptom.numbers;
    let least = symptom.promised().into_iter().fold(1.0, f64::min);
    let error = slice_s / (numbers.window_s * least);
    let text = format!(
        "a service slice of {:.0} ms is {} of what the lightest group is promised in {:.1} s",
        1e3 * slice_s,
        percent(error),
        numbers.window_s
    );
    (error > symptom.promise.within).then(|| Cause {
        code: SHORT_RUN.code.to_owned(),
        summary: "suspected: the run holds too few service slices of the lightest group".to_owned(),
        evidence: vec![text],
        strength: Some(Strength::Fair),
    })
}

/// A limit was not tested because a group stayed clear of it. Collects the reasons
/// from the record.
pub(super) const NEVER_BOUND: CauseEntry = CauseEntry {
    code: "C-NEVER-BOUND",
    what: "A limit that a group stayed clear of was not tested.",
    fingerprint: "Use below the limit by more than a tenth, or no throttled period.",
    confirm: "A lower limit, or a workload with more demand: use rises to the limit and stays there.",
    remedy: "A limit well below what the workload uses without one.",
    source: "The founding experiment's 20 and 25 GB limits lay above the 15.0 GiB that the program needs",
    ..CauseEntry::found_by(FoundBy::Suspicion)
};

/// The cause of a void limit; `None` for a promise that is not a limit.
pub(super) fn never_bound(symptom: &Symptom<'_, '_>) -> Option<Cause> {
    let Symptom { subject, promise, measure, numbers, .. } = *symptom;
    if promise.is.kind().side() != Side::Above {
        return None;
    }
    let mut evidence = vec![used(symptom)?];
    if measure.is_cpu() {
        evidence.extend(cpu(subject, numbers));
    }
    Some(Cause {
        code: NEVER_BOUND.code.to_owned(),
        summary: "a group stayed clear of its limit, which was therefore not tested".to_owned(),
        evidence,
        strength: None,
    })
}

/// The group that stayed furthest below its limit.
fn used(symptom: &Symptom<'_, '_>) -> Option<String> {
    let times = |group: &usize| symptom.times(*group);
    let least = (0..symptom.names.len()).min_by(|a, b| times(a).total_cmp(&times(b)))?;
    let of = |amounts: Vec<f64>| rate(symptom.measure, amounts[least]);
    let (used, most) = (of(symptom.seen()), of(symptom.promised()));
    Some(format!("`{}` used {used} of the {most} that it may have", symptom.names[least]))
}

/// Why groups did not use their CPU time: their own threads, or others.
fn cpu(subject: &Subject<'_>, numbers: &Estimates) -> Option<String> {
    let repeat = subject.repeats.first()?;
    let shared = Shared::in_repeat(subject.host, subject.trial, repeat.record).ok()??;
    let few = numbers.names().zip(numbers.promised()).find_map(|(name, limit)| {
        let threads = *shared.threads.get(name)? as usize;
        (shared.demand(name) <= limit).then(|| {
            let (threads, cpus) = (count(threads, "thread"), count(shared.set.len(), "CPU"));
            format!("`{name}` has {threads} on {cpus} and could not use more than its limit")
        })
    });
    let spent = cpus::spent(repeat, Some(&shared.set)).ok()?;
    few.or_else(|| {
        let others = cpus::others(subject.trial, repeat, &shared, spent).ok()?;
        Some(format!(
            "processes outside the groups used {} of {}, which were idle {} of the time",
            percent(others),
            shared.label(),
            percent(spent.idle)
        ))
    })
}
