//! `sched-ext`: no BPF program schedules the CPUs.
//!
//! Such a scheduler need not obey `cpu.weight`, and whether it does is unknown
//! (Documentation/scheduler/sched-ext.rst).

use assay_facts::Available;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;

/// Evaluated where it was recorded.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    evidence.repeats.iter().find(|repeat| repeat.record.overrides.is_some())?;
    let check = each_repeat("sched-ext", evidence, find);
    let summary = "a BPF program schedules the CPUs, which need not obey weights";
    Some(ValidityCheck { check, scope: Scope::CpuShares, proves: Some(("C-SCHED-EXT", summary)) })
}

fn find(repeat: &Repeat<'_>) -> Finding {
    match repeat.record.overrides.as_ref().map(|overrides| &overrides.sched_ext) {
        None => Finding::unverified("it was not recorded"),
        Some(Available::NotAvailable(why)) => {
            Finding::new(true, format!("the kernel has no sched_ext ({why})"))
        }
        Some(Available::Value(state)) => {
            let active = state.starts_with("enabl");
            Finding::new(!active, format!("`/sys/kernel/sched_ext/state` reads {state}"))
        }
    }
}
