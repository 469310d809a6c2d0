//! `scheduler`: the disk has the scheduler that obeys the knobs, and the queue attributes requested
//! by the study.

use assay_record::run_folder::QueueReading;
use assay_record::run_folder::knob_value::attribute_holds;

use super::{Evidence, Finding, Rule, Scope};
use crate::queue;
use crate::repeat::Repeat;
use crate::verdict::wording::some_of;

/// Evaluated when knobs or the study require something of a queue, whatever is promised.
pub(super) const SCHEDULER: Rule =
    Rule::each("scheduler", Scope::Io, find).always().when(is_asked).proves_by(proves);

fn is_asked(evidence: &Evidence<'_>) -> bool {
    evidence.trial.disks.iter().any(|disk| disk.scheduler.is_some() || !disk.queue.is_empty())
        || !obeyed(evidence).is_empty()
}

/// The cause proven by a failure: that of the attribute that did not hold, provided the scheduler
/// itself did.
fn proves(evidence: &Evidence<'_>) -> (&'static str, &'static str) {
    let summary = "the disk's scheduler or queue was not what the knobs and the study need";
    let scheduler = ("C-SCHEDULER", summary);
    for repeat in evidence.repeats {
        let readings = || repeat.record.queues.iter();
        let needs = obeyed(evidence);
        let active = |queue: &QueueReading| {
            let disobeyed = needs
                .iter()
                .any(|(disk, needed)| *disk == queue.disk && disobeys(queue, needed).is_some());
            disobeyed || queue.drift.contains_key("scheduler")
        };
        if readings().any(active) {
            return scheduler;
        }
        for disk in &evidence.trial.disks {
            let Some(queue) = queue::reading(repeat, &disk.name) else { continue };
            for (attribute, asked) in &disk.queue {
                let wrong = attribute_fault(queue, attribute, asked).is_some()
                    || queue.drift.contains_key(attribute);
                if let Some(cause) = of_attribute(attribute).filter(|_| wrong) {
                    return cause;
                }
            }
        }
    }
    scheduler
}

/// The cause of an attribute that was changed from outside.
fn of_attribute(attribute: &str) -> Option<(&'static str, &'static str)> {
    match attribute {
        "iosched/low_latency" => {
            Some(("C-LOW-LATENCY", "BFQ's low_latency was switched on from outside"))
        }
        "iosched/slice_idle" | "iosched/slice_idle_us" => {
            Some(("C-SLICE-IDLE", "BFQ's slice_idle was changed from outside"))
        }
        "nr_requests" => Some(("C-REQUEST-POOL", "the pool of requests was changed from outside")),
        _ => None,
    }
}

/// The schedulers required by the knobs on each disk.
fn obeyed<'e>(evidence: &Evidence<'e>) -> Vec<(&'e str, &'e str)> {
    let mut needs = Vec::new();
    for group in evidence.trial.groups.iter().filter(|group| queue::is_measured(group)) {
        let Some(disk) = queue::disk_of(evidence.trial, group) else { continue };
        for scheduler in group.knobs.iter().filter_map(|knob| knob.obeyed_by.as_deref()) {
            if !needs.contains(&(disk, scheduler)) {
                needs.push((disk, scheduler));
            }
        }
    }
    needs
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    let mut missing = Vec::new();
    for (disk, scheduler) in obeyed(evidence) {
        match queue::reading(repeat, disk) {
            None => missing.push(format!("the queue of disk `{disk}` was not read")),
            Some(queue) => wrong.extend(disobeys(queue, scheduler)),
        }
    }
    for disk in &evidence.trial.disks {
        let Some(queue) = queue::reading(repeat, &disk.name) else {
            if disk.scheduler.is_some() || !disk.queue.is_empty() {
                missing.push(format!("the queue of disk `{}` was not read", disk.name));
            }
            continue;
        };
        wrong.extend(disk.scheduler.as_deref().and_then(|asked| not_as_asked(queue, asked)));
        for (attribute, asked) in &disk.queue {
            wrong.extend(attribute_fault(queue, attribute, asked));
        }
        for (attribute, drift) in &queue.drift {
            if attribute == "scheduler" || disk.queue.contains_key(attribute) {
                let changed = super::knobs::changed(repeat, drift);
                wrong.push(format!("`{attribute}` of {} {changed}", queue.device));
            }
        }
        seen.push(format!("`{}` on {}", queue.scheduler_at_start, queue.device));
    }
    missing.dedup();
    if !wrong.is_empty() {
        return Finding::new(false, some_of(&wrong, "; "));
    }
    if !missing.is_empty() {
        return Finding::missing(&some_of(&missing, "; "));
    }
    Finding::new(true, format!("{} at the start and at the end", some_of(&seen, ", ")))
}

/// `io.weight` of iocost works under any scheduler except BFQ, which takes over the weights.
fn disobeys(queue: &QueueReading, needed: &str) -> Option<String> {
    for (active, when) in moments(queue) {
        let obeys = if needed == "iocost" { active != "bfq" } else { active == needed };
        if !obeys {
            let needed = if needed == "iocost" { "any scheduler but `bfq`" } else { needed };
            return Some(format!(
                "the weights on {} need {needed}, but `{active}` was active at the {when}",
                queue.device
            ));
        }
    }
    None
}

fn not_as_asked(queue: &QueueReading, asked: &str) -> Option<String> {
    let (active, when) = moments(queue).into_iter().find(|(active, _)| *active != asked)?;
    Some(format!(
        "`{asked}` was requested for {}, but `{active}` was active at the {when}",
        queue.device
    ))
}

fn moments(queue: &QueueReading) -> [(&str, &'static str); 2] {
    [(queue.scheduler_at_start.as_str(), "start"), (queue.scheduler_at_end.as_str(), "end")]
}

fn attribute_fault(queue: &QueueReading, attribute: &str, asked: &str) -> Option<String> {
    for (values, when) in [(&queue.at_start, "start"), (&queue.at_end, "end")] {
        let device = &queue.device;
        match values.get(attribute) {
            None => return Some(format!("`{attribute}` of {device} was not read at the {when}")),
            Some(shown) if !attribute_holds(asked, shown) => {
                return Some(format!(
                    "`{attribute}` of {device} was set to `{asked}` and reads `{}` at the {when}",
                    shown.trim()
                ));
            }
            Some(_) => {}
        }
    }
    None
}
