//! `knobs`: what was written could be read back, and still stood at the end.

use assay_facts::Available;
use assay_record::{GroupRecord, KnobRecord, Reading};

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::reading;
use crate::repeat::Repeat;
use crate::wording::{count, some_of};

/// Fails on any knob of a measured group, or of a group around one, that does not hold the
/// value written. A knob that cannot be read fails as well: it is not known what was tested.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("knobs", evidence, |repeat| find(evidence, repeat));
    let summary = "a knob did not hold the value that was written, at the start or at the end";
    Gate { check, scope: Scope::All, proves: Some(("C-KNOB-DRIFT", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut wrong = Vec::new();
    let mut held = 0;
    let mut notes: Vec<String> = Vec::new();
    for group in evidence.trial.groups.iter().filter(|group| concerns(evidence, group)) {
        for knob in &group.knobs {
            match fault(knob, reading::find(repeat.record, &group.name, &knob.knob)) {
                None => held += 1,
                Some(fault) => wrong.push(format!("`{}` of `{}` {fault}", knob.file, group.name)),
            }
            if let Some(note) = knob.note.as_ref().filter(|note| !notes.contains(note)) {
                notes.push(note.clone());
            }
        }
    }
    if !wrong.is_empty() {
        return Finding::new(false, some_of(&wrong, "; "));
    }
    let mut text = match held {
        0 => "the study sets no knob on a measured group".to_owned(),
        held => {
            format!("{} read back as written, at the start and at the end", count(held, "value"))
        }
    };
    if !notes.is_empty() {
        text = format!("{text}; {}", some_of(&notes, "; "));
    }
    Finding::new(true, text)
}

/// A measured group, or one that holds a measured group.
fn concerns(evidence: &Evidence<'_>, group: &GroupRecord) -> bool {
    let inside = format!("{}/", group.name);
    evidence.groups.iter().any(|name| *name == group.name || name.starts_with(&inside))
}

fn fault(knob: &KnobRecord, reading: Option<&Reading>) -> Option<String> {
    let Some(reading) = reading else {
        return Some("was not read back".to_owned());
    };
    for (value, when) in
        [(&reading.at_start, "after it was written"), (&reading.at_end, "at the end")]
    {
        match value {
            Available::NotAvailable(why) => return Some(format!("not available {when}: {why}")),
            Available::Value(text) if !reading::same(&knob.file, &knob.written, text) => {
                return Some(format!(
                    "was written `{}` and reads `{}` {when}",
                    knob.written,
                    text.trim()
                ));
            }
            Available::Value(_) => {}
        }
    }
    None
}
