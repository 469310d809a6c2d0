//! Whether the values of the study were in force: of its knobs, and of settings of the host.

use assay_host::facts::Available;
use assay_host::knob::matches_written;
use assay_record::run_folder::{
    Drift, GroupRecord, KnobRecord, Reading, SettingReading, SettingRecord, TimedReading,
    knob_value,
};
use assay_record::terms::Measure;

use super::{Evidence, Finding, Rule, Scope};
use crate::repeat::{Repeat, is_part};
use crate::verdict::wording::{count, rate, some_of};

/// `knobs`: the written values were read back, and held until the end.
///
/// Fails on any knob of a measured group, or of a group around one, that does not hold the written
/// value at the start, at the end, or in one of the readings between, about once a second. An
/// unreadable knob fails too: the tested value is unknown.
pub(super) const KNOBS: Rule = Rule::each("knobs", Scope::All, knobs)
    .proves("C-KNOB-DRIFT", "a knob did not hold the value that was written");

fn knobs(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut wrong = Vec::new();
    let mut held = 0;
    let mut notes: Vec<String> = Vec::new();
    for group in evidence.trial.groups.iter().filter(|group| concerns(evidence, group)) {
        for knob in &group.knobs {
            let reading = knob_value::find(repeat.record, &group.name, &knob.knob);
            let origin = if group.existing.is_some() { "was" } else { "was written" };
            match fault(knob, reading, origin).or_else(|| drift(repeat, knob, reading?)) {
                None => held += 1,
                Some(fault) => wrong.push(format!("`{}` of `{}` {fault}", knob.file, group.name)),
            }
            if let Some(note) = knob.note.as_ref().filter(|note| !notes.contains(note)) {
                notes.push(note.clone());
            }
        }
    }
    let mut text = match held {
        0 => "the study sets no knob on a measured group".to_owned(),
        held => {
            let between = between(repeat);
            let held = count(held, "value");
            format!("{held} read back as written, at the start and at the end{between}")
        }
    };
    if !notes.is_empty() {
        text = format!("{text}; {}", some_of(&notes, "; "));
    }
    Finding::unless(&wrong, || text)
}

/// Whether it is a measured group or contains one.
fn concerns(evidence: &Evidence<'_>, group: &GroupRecord) -> bool {
    evidence.groups.iter().any(|name| is_part(name, &group.name))
}

/// A value changed from outside while the repeat ran, perhaps temporarily.
fn drift(repeat: &Repeat<'_>, knob: &KnobRecord, reading: &Reading) -> Option<String> {
    reading.drift.iter().find_map(|(file, drift)| {
        let written = if *file == knob.file { Some(&knob.written) } else { knob.also.get(file) };
        let differs = |seen: &TimedReading| match (&seen.value, written) {
            (Available::Value(text), Some(written)) => !matches_written(file, written, text),
            _ => true,
        };
        (differs(&drift.first) || differs(&drift.last)).then(|| match *file == knob.file {
            true => changed(repeat, drift),
            false => format!("({file}) {}", changed(repeat, drift)),
        })
    })
}

/// `, and in 12 readings between`.
fn between(repeat: &Repeat<'_>) -> String {
    let rounds = repeat.record.watch.map(|watch| count(watch.rounds as usize, "reading"));
    rounds.map_or_else(String::new, |rounds| format!(", and in {rounds} between"))
}

/// When the value differed, and what it was.
pub(super) fn changed(repeat: &Repeat<'_>, drift: &Drift) -> String {
    let began = repeat.record.all_released_ns;
    let after = |seen: &TimedReading| seen.time_ns.saturating_sub(began) as f64 * 1e-9;
    let value = |seen: &TimedReading| match &seen.value {
        Available::Value(text) => format!("`{}`", text.trim()),
        Available::NotAvailable(why) => format!("nothing ({why})"),
    };
    let first =
        format!("read {} {:.1} s after the start", value(&drift.first), after(&drift.first));
    if drift.readings < 2 {
        return first;
    }
    format!(
        "{first} and {} at {:.1} s ({} readings differ)",
        value(&drift.last),
        after(&drift.last),
        drift.readings
    )
}

/// `origin` says how the value came there.
fn fault(knob: &KnobRecord, reading: Option<&Reading>, origin: &str) -> Option<String> {
    let Some(reading) = reading else {
        return Some("was not read back".to_owned());
    };
    for (value, when) in
        [(&reading.at_start, "after it was written"), (&reading.at_end, "at the end")]
    {
        match value {
            Available::NotAvailable(why) => return Some(format!("not available {when}: {why}")),
            Available::Value(text) if !matches_written(&knob.file, &knob.written, text) => {
                return Some(format!(
                    "{origin} `{}` and reads `{}` {when}",
                    knob.written,
                    text.trim()
                ));
            }
            Available::Value(_) => {}
        }
    }
    for (file, written) in &knob.also {
        match reading.also.get(file) {
            Some(Available::Value(text)) if matches_written(file, written, text) => {}
            // Runs of older versions did not read these files.
            None => {}
            Some(Available::Value(text)) => {
                return Some(format!("wrote `{written}` to {file}, which reads `{}`", text.trim()));
            }
            Some(Available::NotAvailable(why)) => {
                return Some(format!("has {file} not available: {why}"));
            }
        }
    }
    None
}

/// `settings`: the host settings requested by the study held, and caches were dropped where
/// requested.
///
/// `None` when the study requests no setting and drops no caches. An unreadable setting fails: the
/// tested value is unknown.
pub(super) const SETTINGS: Rule = Rule::each("settings", Scope::All, settings)
    .when(|evidence| {
        let dropped = evidence.repeats.iter().any(|repeat| repeat.record.dropped.is_some());
        dropped || !evidence.trial.settings.is_empty()
    })
    .proves("C-SETTING-DRIFT", "a setting of the host did not hold the value that was written");

fn settings(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let asked = &evidence.trial.settings;
    let readings = &repeat.record.settings;
    let wrong: Vec<String> = asked
        .iter()
        .filter_map(|record| {
            let reading = readings.iter().find(|reading| reading.setting == record.setting);
            let fault = match reading {
                None => "was not read back".to_owned(),
                Some(reading) => setting_fault(repeat, record, reading)?,
            };
            Some(format!("`{}` {fault}", record.setting))
        })
        .collect();
    let mut parts = Vec::new();
    if !asked.is_empty() {
        let values: Vec<String> =
            asked.iter().map(|one| format!("{} = {}", one.setting, one.written)).collect();
        let (values, between) = (some_of(&values, ", "), between(repeat));
        parts.push(format!("{values} at the start and at the end{between}"));
    }
    parts.extend(dropped(repeat));
    Finding::unless(&wrong, || parts.join("; "))
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

fn setting_fault(
    repeat: &Repeat<'_>,
    record: &SettingRecord,
    reading: &SettingReading,
) -> Option<String> {
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
    (differs(&drift.first) || differs(&drift.last)).then(|| changed(repeat, drift))
}
