//! `cpu`: what limits the groups is the resource that the promise is about.

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::repeat::Repeat;
use crate::series;
use crate::wording::percent;

/// Less idle time than this means that the CPUs are the limit.
const LEAST_IDLE: f64 = 0.05;

/// For promises about the disk: the CPUs must have had time to spare. Without a reading the
/// promise is void, since a busy CPU and a deep queue look alike from the groups' side.
pub(super) fn spare(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("cpu", evidence, |repeat| match idle(repeat) {
        Err(why) => Finding::missing(&why),
        Ok(idle) => Finding::new(
            idle >= LEAST_IDLE,
            format!(
                "the CPUs were idle {} of the time (at least {} needed)",
                percent(idle),
                percent(LEAST_IDLE)
            ),
        ),
    });
    let summary = "the CPUs were saturated: they, and not the disk, limited the groups";
    Gate { check, scope: Scope::IoShares, proves: Some(("C-CPU", summary)) }
}

/// For promises about CPU time: the CPUs must have been fought over.
pub(super) fn saturated(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("cpu", evidence, |repeat| match idle(repeat) {
        Err(why) => Finding::missing(&why),
        Ok(idle) => Finding::new(
            idle < LEAST_IDLE,
            format!(
                "the CPUs were idle {} of the time (less than {} needed for groups to compete)",
                percent(idle),
                percent(LEAST_IDLE)
            ),
        ),
    });
    let summary = "the CPUs had time to spare, so that no group had to go short";
    Gate { check, scope: Scope::CpuShares, proves: Some(("C-CPU-IDLE", summary)) }
}

/// The idle part of all CPUs over the window. Time in `iowait` is idle time in which a task of
/// that CPU waits for a disk; the CPU was free.
fn idle(repeat: &Repeat<'_>) -> Result<f64, String> {
    const COLUMNS: [&str; 8] = [
        "user_ns",
        "nice_ns",
        "system_ns",
        "idle_ns",
        "iowait_ns",
        "irq_ns",
        "softirq_ns",
        "steal_ns",
    ];
    let table = repeat.table("host_cpu")?;
    let grown = |columns: &[&str]| {
        let series = table.sum("host", columns)?;
        series::growth(&series, repeat.start_ns, repeat.end_ns)
            .map(|(grown, _)| grown)
            .ok_or_else(|| "the samples of `host_cpu` do not cover the window".to_owned())
    };
    let all = grown(&COLUMNS)?;
    if all <= 0.0 {
        return Err("the counters of `host_cpu` did not move".to_owned());
    }
    Ok(grown(&["idle_ns", "iowait_ns"])? / all)
}
