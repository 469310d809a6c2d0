//! `looks`: how often the data was looked at before a repeat ended, and what all looks at the trial
//! leave of the error that its intervals may spend.

use assay_run_folder::StopRecord;

use super::{Evidence, Finding, of_each_repeat};
use crate::interim_looks::part_of;
use assay_verdict::Fact;
use assay_verdict::wording::{count, percent};

/// Listed where the trial was to stop so.
pub(super) fn fact(evidence: &Evidence<'_>) -> Option<Fact> {
    if evidence.trial.stop != StopRecord::Precise {
        return None;
    }
    let part = part_of(evidence.trial);
    let spends = match part < 1.0 {
        true => {
            let part = percent(part);
            format!("; intervals may spend {part} of the error that the promise allows")
        }
        false => String::new(),
    };
    Some(of_each_repeat("looks", evidence, |repeat| {
        let looks = match repeat.record.looks {
            None => "not looked at while it ran".to_owned(),
            Some(looks) => {
                let end = match looks.decided {
                    true => "the last of which ended it",
                    false => "and then ran to its end",
                };
                format!("{} while it ran, {end}", count(looks.taken as usize, "look"))
            }
        };
        Finding::new(true, format!("{looks}{spends}"))
    }))
}
