//! What was asked of the kernel, what was written, and what it answered at start and end.

use assay_facts::Available;
use assay_run_folder::{KnobRecord, Reading};
use serde::Serialize;

use crate::subjects::SHOWN_SINGLY;
use crate::trial::Trial;
use crate::wording;

/// All knobs of a trial, groups with the same story in one row.
#[derive(Serialize)]
pub(super) struct Knobs {
    rows: Vec<Row>,
    notes: Vec<String>,
}

#[derive(Serialize, Clone, PartialEq)]
struct Row {
    groups: String,
    knob: String,
    asked: String,
    file: String,
    written: String,
    at_start: Answer,
    at_end: Answer,
}

/// What the kernel said.
#[derive(Serialize, Clone, PartialEq)]
struct Answer {
    text: String,
    /// Whether it is what was written.
    same: bool,
}

impl Knobs {
    pub(super) fn of(trial: &Trial<'_>) -> Self {
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
        let rows = stories
            .into_iter()
            .map(|(row, groups)| Row { groups: wording::names(&groups, SHOWN_SINGLY / 2), ..row });
        Self { rows: rows.collect(), notes }
    }
}

fn notes_of(knob: &KnobRecord) -> Vec<String> {
    let obeyed = knob
        .obeyed_by
        .as_ref()
        .map(|scheduler| format!("`{}` is obeyed by the scheduler `{scheduler}` only.", knob.file));
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
        asked: knob.asked.clone(),
        file: knob.file.clone(),
        written: knob.written.clone(),
        at_start: answer(&knob.written, readings.iter().map(|reading| &reading.at_start)),
        at_end: with_drift(
            answer(&knob.written, readings.iter().map(|reading| &reading.at_end)),
            &readings,
        ),
    }
}

/// The answers of all repeats in one: the value if they agree, else each different one.
fn answer<'a>(written: &str, answers: impl Iterator<Item = &'a Available<String>>) -> Answer {
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
        return Answer { text: "not available: never read".to_owned(), same: false };
    }
    let same = texts.iter().all(|text| means_the_same(text, written));
    Answer { text: texts.join(" / "), same }
}

/// Values that were seen in between and are no longer there.
fn with_drift(answer: Answer, readings: &[&Reading]) -> Answer {
    let mut seen: Vec<&str> = Vec::new();
    for drift in readings.iter().flat_map(|reading| reading.drift.values()) {
        for value in [&drift.first.value, &drift.last.value] {
            let text = value.value().map_or("nothing", |text| text.trim());
            if !seen.contains(&text) {
                seen.push(text);
            }
        }
    }
    if seen.is_empty() {
        return answer;
    }
    Answer { text: format!("{}, in between {}", answer.text, seen.join(" / ")), same: false }
}

/// Kernels answer with more than was written: BFQ's weight file says `default 100`.
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
