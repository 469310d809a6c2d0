//! `looks`: the number of interim looks at a repeat, and the part of the error probability left for
//! the intervals after all looks at the trial.

use assay_run_folder::StopRecord;
use assay_verdict::Fact;
use assay_verdict::wording::{count, percent};

use super::{Evidence, Finding, each_repeat};
use crate::error_probability::part_of;

/// Listed where the trial stops once precise.
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
    Some(each_repeat("looks", evidence, |repeat| {
        let looks = match repeat.record.looks {
            None => "no looks while it ran".to_owned(),
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
