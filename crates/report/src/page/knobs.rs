//! Knobs: what was requested, what was written, and what the kernel returned at start and end.

use assay_facts::Available;
use assay_run_folder::{KnobRecord, Reading};
use serde::Serialize;

use crate::subjects::MAX_SINGLE_GROUPS;
use crate::trial::Trial;
use crate::wording;

/// All knobs of a trial; groups with identical values share a row.
#[derive(Serialize)]
pub(super) struct Knobs {
    rows: Vec<Row>,
    notes: Vec<String>,
}

#[derive(Serialize, Clone, PartialEq)]
struct Row {
    groups: String,
    knob: String,
    requested: String,
    file: String,
    written: String,
    at_start: ReadBack,
    at_end: ReadBack,
}

/// A value read back from the kernel.
#[derive(Serialize, Clone, PartialEq)]
struct ReadBack {
    text: String,
    /// Whether it equals the written value.
    same: bool,
}

impl Knobs {
    pub(super) fn new(trial: &Trial<'_>) -> Self {
        let mut stories: Vec<(Row, Vec<&str>)> = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for group in &trial.record.groups {
            for knob in &group.knobs {
                let row = row(trial, &group.name, knob);
                match stories.iter_mut().find(|(known, _)| *known == row) {
                    Some((_, groups)) => groups.push(&group.name),
                    None => stories.push((row, vec![&group.name])),
                }
                for note in notes_of(knob) {
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        let rows = stories.into_iter().map(|(row, groups)| Row {
            groups: wording::names(&groups, MAX_SINGLE_GROUPS / 2),
            ..row
        });
        Self { rows: rows.collect(), notes }
    }
}

fn notes_of(knob: &KnobRecord) -> Vec<String> {
    let obeyed = knob.obeyed_by.as_ref().map(|scheduler| {
        format!("`{}` has an effect only with the scheduler `{scheduler}`.", knob.file)
    });
    let note = knob.note.as_deref().map(wording::sentence);
    obeyed.into_iter().chain(note).collect()
}

fn row(trial: &Trial<'_>, group: &str, knob: &KnobRecord) -> Row {
    let readings: Vec<&Reading> = trial
        .record
        .repeats
        .iter()
        .flat_map(|repeat| &repeat.knobs)
        .filter(|reading| reading.group == group && reading.knob == knob.knob)
        .collect();
    Row {
        groups: String::new(),
        knob: knob.knob.clone(),
        requested: knob.asked.clone(),
        file: knob.file.clone(),
        written: knob.written.clone(),
        at_start: answer(&knob.written, readings.iter().map(|reading| &reading.at_start)),
        at_end: with_drift(
            answer(&knob.written, readings.iter().map(|reading| &reading.at_end)),
            &readings,
        ),
    }
}

/// The values of all repeats: one value if they agree, else each different one.
fn answer<'a>(written: &str, answers: impl Iterator<Item = &'a Available<String>>) -> ReadBack {
    let mut texts: Vec<String> = Vec::new();
    for answer in answers {
        let text = match answer {
            Available::Value(value) => value.trim().to_owned(),
            Available::NotAvailable(reason) => format!("not available: {reason}"),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        return ReadBack { text: "not available: never read".to_owned(), same: false };
    }
    let same = texts.iter().all(|text| means_the_same(text, written));
    ReadBack { text: texts.join(" / "), same }
}

/// Adds values that were read in between and differ.
fn with_drift(answer: ReadBack, readings: &[&Reading]) -> ReadBack {
    let mut values: Vec<&str> = Vec::new();
    for drift in readings.iter().flat_map(|reading| reading.drift.values()) {
        for value in [&drift.first.value, &drift.last.value] {
            let text = value.value().map_or("nothing", |text| text.trim());
            if !values.contains(&text) {
                values.push(text);
            }
        }
    }
    if values.is_empty() {
        return answer;
    }
    ReadBack { text: format!("{}, in between {}", answer.text, values.join(" / ")), same: false }
}

/// Kernels may return more than was written: BFQ's weight file contains `default 100`.
fn means_the_same(answer: &str, written: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim();
        text.strip_prefix("default")
            .unwrap_or(text)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    bare(answer) == bare(written)
}
