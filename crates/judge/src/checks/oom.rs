//! `oom`: the kernel killed no process for lack of memory.

use assay_run_folder::TrialRecord;
use assay_verdict::Check;
use assay_verdict::wording::some_of;

use super::{Scope, ValidityCheck};

/// Examines every started repeat, since one that lost a process is left out of the numbers. Skipped
/// where no group has memory counters.
pub(super) fn check(trial: &TrialRecord) -> Option<ValidityCheck> {
    let mut killed = Vec::new();
    let mut groups = 0;
    for (index, repeat) in trial.repeats.iter().enumerate() {
        for (group, counted) in &repeat.memory_events {
            groups += 1;
            if counted.get("oom_kill").is_some_and(|kills| *kills > 0) {
                let numbers: Vec<String> = counted
                    .iter()
                    .filter(|(_, count)| **count > 0)
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect();
                killed.push(format!("repeat {}, `{group}`: {}", index + 1, numbers.join(", ")));
            }
        }
    }
    if groups == 0 {
        return None;
    }
    let (ok, evidence) = match killed.is_empty() {
        true => (true, "the kernel killed no process of a group for lack of memory".to_owned()),
        false => (false, format!("the kernel's own counters: {}", some_of(&killed, "; "))),
    };
    let check = Check { check: "oom".to_owned(), ok, evidence };
    let summary = "the kernel killed a process of the workload for lack of memory: the limit ended \
                   the workload instead of slowing it down";
    Some(ValidityCheck { check, scope: Scope::All, proves: Some(("C-OOM-KILLED", summary)) })
}
