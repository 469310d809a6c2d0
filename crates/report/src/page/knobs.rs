//! Knobs and queue settings: what was requested, what was written, and what the kernel returned at start and end.

use assay_host::facts::Available;
use assay_record::run_folder::{KnobRecord, Reading};
use assay_sys::escape::page::{Cell, Parts, Rows, Tag, Tone};

use crate::number::NONE;
use crate::subjects::MAX_SINGLE_GROUPS;
use crate::trial::Trial;
use crate::wording;

/// A value read back from the kernel.
#[derive(Clone, PartialEq)]
struct ReadBack {
    text: String,
    /// Whether it equals the written value.
    same: bool,
}

/// A knob with what was read back at start and end; groups with identical values share a row.
struct Row<'t> {
    knob: &'t KnobRecord,
    read: [ReadBack; 2],
    groups: Vec<&'t str>,
}

/// All knobs of a trial.
pub(super) fn section(trial: &Trial<'_>, page: &mut Parts) {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for group in &trial.record.groups {
        for knob in &group.knobs {
            let read = read_back(trial, &group.name, knob);
            let said = |knob: &KnobRecord| {
                [&knob.knob, &knob.asked, &knob.file, &knob.written].map(Clone::clone)
            };
            match rows.iter_mut().find(|row| said(row.knob) == said(knob) && row.read == read) {
                Some(row) => row.groups.push(&group.name),
                None => rows.push(Row { knob, read, groups: vec![&group.name] }),
            }
            notes.extend(notes_of(knob));
        }
    }
    notes.sort();
    notes.dedup();
    if rows.is_empty() {
        return;
    }
    let differ = rows.iter().filter(|row| row.read.iter().any(|read| !read.same)).count();
    let summary = match differ {
        0 => "Knobs: all read back as written".to_owned(),
        _ => format!("Knobs: {differ} of {} differ from what was written", rows.len()),
    };
    let read = |row: &Row<'_>, at: usize| match &row.read[at] {
        ReadBack { text, same: true } => Cell::from(format!("`{text}`")),
        ReadBack { text, same: false } => {
            Tag::new(Tone::Bad, "", format!("`{text}` \u{2260} written")).into()
        }
    };
    page.fold(summary, differ > 0, |page| {
        page.table(
            Rows::new(&rows)
                .left("knob", 0, |row| format!("`{}`", row.knob.knob))
                .right("requested", 0, |row| row.knob.asked.clone())
                .left("file", 0, |row| format!("`{}`", row.knob.file))
                .right("written", 0, |row| format!("`{}`", row.knob.written))
                .right("read, start", 0, |row| read(row, 0))
                .right("read, end", 0, |row| read(row, 1))
                .prose("groups", |row| wording::names(&row.groups, MAX_SINGLE_GROUPS / 2)),
        );
        notes.into_iter().for_each(|note| page.styled("aside", note));
    });
}

fn notes_of(knob: &KnobRecord) -> impl Iterator<Item = String> {
    let obeyed = knob.obeyed_by.as_ref().map(|scheduler| {
        format!("`{}` has an effect only with the scheduler `{scheduler}`.", knob.file)
    });
    let note = knob.note.as_deref().map(wording::sentence);
    obeyed.into_iter().chain(note)
}

fn read_back(trial: &Trial<'_>, group: &str, knob: &KnobRecord) -> [ReadBack; 2] {
    let all = trial.record.repeats.iter().flat_map(|repeat| &repeat.knobs);
    let readings: Vec<&Reading> =
        all.filter(|reading| reading.group == group && reading.knob == knob.knob).collect();
    let start = answer(&knob.written, readings.iter().map(|reading| &reading.at_start));
    let end = answer(&knob.written, readings.iter().map(|reading| &reading.at_end));
    [start, with_drift(end, &readings)]
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

/// The queue settings of the scratch disks at start and end, as read in all repeats, without duplicates.
pub(super) fn queues(trial: &Trial<'_>, page: &mut Parts) {
    type Row = (String, Option<String>, String, String);
    let mut tables: Vec<(String, Vec<Row>)> = Vec::new();
    for queue in trial.record.repeats.iter().flat_map(|repeat| &repeat.queues) {
        let disk = trial.record.disks.iter().find(|disk| disk.name == queue.disk);
        let scheduler = disk.and_then(|disk| disk.scheduler.clone());
        let [start, end] = [&queue.scheduler_at_start, &queue.scheduler_at_end].map(Clone::clone);
        let mut rows: Vec<Row> = vec![("scheduler".to_owned(), scheduler, start, end)];
        rows.extend(queue.at_start.iter().map(|(attribute, at_start)| {
            let requested = disk.and_then(|disk| disk.queue.get(attribute).cloned());
            let at_end = queue.at_end.get(attribute).cloned();
            let at_end = at_end.unwrap_or_else(|| "not available: not read".to_owned());
            (attribute.clone(), requested, at_start.clone(), at_end)
        }));
        let source = disk.map_or_else(String::new, |disk| format!(" ({})", disk.source));
        let caption = format!("Queue of `{}`, the disk {}{source}", queue.device, queue.disk);
        if !tables.contains(&(caption.clone(), rows.clone())) {
            tables.push((caption, rows));
        }
    }
    if tables.is_empty() {
        page.missing("no queue of a scratch disk was read in this trial");
    }
    for (caption, rows) in tables {
        let is_as_requested = |(_, requested, start, end): &Row| {
            let as_requested =
                requested.as_ref().is_none_or(|requested| requested.trim() == start.trim());
            match (as_requested && start.trim() == end.trim(), requested) {
                (false, _) => Cell::Word(Tag::new(Tone::Bad, "\u{2717}", "no")),
                (true, Some(_)) => Cell::from("yes"),
                (true, None) => Cell::from("unchanged"),
            }
        };
        page.table(
            Rows::new(&rows)
                .left("attribute", 0, |(attribute, ..)| format!("`{attribute}`"))
                .right("requested", 0, |(_, requested, ..)| {
                    requested.clone().unwrap_or_else(|| NONE.to_owned())
                })
                .right("start", 0, |(.., start, _)| start.clone())
                .right("end", 0, |(.., end)| end.clone())
                .left("as requested", 0, is_as_requested)
                .caption(caption),
        );
    }
}
