//! `settings`: the host settings requested by the study held, and caches were dropped where
//! requested.

use assay_facts::Available;
use assay_run_folder::{SettingReading, SettingRecord, TimedReading};
use assay_terms::Measure;
use assay_verdict::wording::{count, rate, some_of};

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat, knobs};
use crate::repeat::Repeat;

/// `None` when the study requests no setting and drops no caches. An unreadable setting fails: the
/// tested value is unknown.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let dropped = evidence.repeats.iter().any(|repeat| repeat.record.dropped.is_some());
    if evidence.trial.settings.is_empty() && !dropped {
        return None;
    }
    let check = each_repeat("settings", evidence, |repeat| find(evidence, repeat));
    let summary = "a setting of the host did not hold the value that was written";
    Some(ValidityCheck { check, scope: Scope::All, proves: Some(("C-SETTING-DRIFT", summary)) })
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let asked = &evidence.trial.settings;
    let readings = &repeat.record.settings;
    let wrong: Vec<String> = asked
        .iter()
        .filter_map(|record| {
            let reading = readings.iter().find(|reading| reading.setting == record.setting);
            let fault = match reading {
                None => "was not read back".to_owned(),
                Some(reading) => fault(repeat, record, reading)?,
            };
            Some(format!("`{}` {fault}", record.setting))
        })
        .collect();
    if !wrong.is_empty() {
        return Finding::new(false, some_of(&wrong, "; "));
    }
    let mut parts = Vec::new();
    if !asked.is_empty() {
        let values: Vec<String> =
            asked.iter().map(|one| format!("{} = {}", one.setting, one.written)).collect();
        let looks = match repeat.record.watch {
            Some(watch) => format!(", and in {} between", count(watch.rounds as usize, "reading")),
            None => String::new(),
        };
        parts.push(format!("{} at the start and at the end{looks}", some_of(&values, ", ")));
    }
    parts.extend(dropped(repeat));
    Finding::new(true, parts.join("; "))
}

/// Amount of cache before and after dropping.
fn dropped(repeat: &Repeat<'_>) -> Option<String> {
    let dropped = repeat.record.dropped.as_ref()?;
    let amount = |bytes: &Available<u64>| match bytes {
        Available::Value(bytes) => rate(Measure::MemoryCurrent, *bytes as f64),
        Available::NotAvailable(why) => format!("not available: {why}"),
    };
    Some(format!(
        "caches dropped before the start ({}): {} before, {} after",
        dropped.what,
        amount(&dropped.before_bytes),
        amount(&dropped.after_bytes)
    ))
}

fn fault(repeat: &Repeat<'_>, record: &SettingRecord, reading: &SettingReading) -> Option<String> {
    let moments = [(&reading.at_start, "after it was written"), (&reading.at_end, "at the end")];
    for (value, when) in moments {
        match value {
            Available::NotAvailable(why) => return Some(format!("not available {when}: {why}")),
            Available::Value(text) if *text != record.written => {
                return Some(format!("should read `{}` and reads `{text}` {when}", record.written));
            }
            Available::Value(_) => {}
        }
    }
    let drift = reading.drift.as_ref()?;
    let differs = |seen: &TimedReading| seen.value.value() != Some(&record.written);
    (differs(&drift.first) || differs(&drift.last)).then(|| knobs::changed(repeat, drift))
}
