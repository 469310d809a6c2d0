//! `stacked`: the disk that the groups share has its own scheduler.
//!
//! A stacked device (dm, md) passes every request on as it comes, and the schedulers below see only
//! their parts of the load.

use assay_verdict::wording::some_of;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::queue;
use crate::repeat::Repeat;

/// Evaluated where some disk of the trial is stacked.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    let overrides = evidence.repeats.iter().filter_map(|repeat| repeat.record.overrides.as_ref());
    overrides.into_iter().find(|overrides| !overrides.stacked.is_empty())?;
    let check = each_repeat("stacked", evidence, |repeat| find(evidence, repeat));
    let summary = "the disk is stacked on others and has no scheduler that obeys weights";
    Some(ValidityCheck { check, scope: Scope::IoShares, proves: Some(("C-STACKED", summary)) })
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let Some(overrides) = &repeat.record.overrides else {
        return Finding::unverified("it was not recorded");
    };
    let knobs = evidence.trial.groups.iter().flat_map(|group| &group.knobs);
    let needed: Vec<&str> = knobs.filter_map(|knob| knob.obeyed_by.as_deref()).collect();
    let (mut wrong, mut fine) = (Vec::new(), Vec::new());
    for (disk, parts) in &overrides.stacked {
        let reading = queue::reading(repeat, disk);
        let active = reading.map_or("", |reading| reading.scheduler_at_start.as_str());
        let device = reading.map_or(disk.as_str(), |reading| reading.device.as_str());
        let obeys = needed.iter().any(|needed| *needed == active || *needed == "iocost");
        let shown = if active.is_empty() { "none" } else { active };
        let text = format!(
            "`{device}` is stacked on {} and has the scheduler `{shown}`",
            parts.join(", ")
        );
        if obeys { fine.push(text) } else { wrong.push(text) }
    }
    match wrong.is_empty() {
        true => Finding::new(true, some_of(&fine, "; ")),
        false => Finding::new(false, some_of(&wrong, "; ")),
    }
}
