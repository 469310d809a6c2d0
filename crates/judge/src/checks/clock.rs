//! `clock`: the clock of the samples agrees with the accounted CPU time.
//!
//! A rate is a difference of counters divided by a difference of times. A guest stopped by its
//! hypervisor, or a stepped clock, shows as CPU time that does not add up: the accounted CPU
//! seconds per second must agree between both halves of the window.

use assay_stats::series;
use assay_verdict::wording::percent;

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;

/// All accounting categories of CPU time (proc_stat(5)).
const ALL: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];

/// Allowed difference of the halves: counters of idle CPUs are updated in ticks.
const MOST: f64 = 0.1;

/// Evaluated where CPU time of the host was sampled.
pub(super) fn check(evidence: &Evidence<'_>) -> Option<ValidityCheck> {
    evidence.repeats.iter().find(|repeat| repeat.table("host_cpu").is_ok())?;
    let check = each_repeat("clock", evidence, |repeat| {
        find(repeat).unwrap_or_else(|why| Finding::unverified(&why))
    });
    let summary = "the clock jumped, or the machine was stopped, while the repeat ran";
    Some(ValidityCheck { check, scope: Scope::Sampled, proves: Some(("C-CLOCK", summary)) })
}

fn find(repeat: &Repeat<'_>) -> Result<Finding, String> {
    let series = repeat.table("host_cpu")?.sum("host", &ALL)?;
    let middle = repeat.start_ns + (repeat.end_ns - repeat.start_ns) / 2;
    let rate = |from: u64, to: u64| -> Result<f64, String> {
        let (grown, seconds) = series::growth(&series, from, to)
            .ok_or("the samples of `host_cpu` do not cover the window")?;
        Ok(grown * 1e-9 / seconds)
    };
    of_halves(rate(repeat.start_ns, middle)?, rate(middle, repeat.end_ns)?)
}

/// Whether the CPU seconds a second that are accounted for agree between both halves.
pub(super) fn of_halves(first: f64, second: f64) -> Result<Finding, String> {
    if first <= 0.0 {
        return Err("the counters of `host_cpu` did not move".to_owned());
    }
    let apart = (second / first - 1.0).abs();
    Ok(Finding::new(
        apart <= MOST,
        format!(
            "the CPUs account for {first:.2} and {second:.2} CPU seconds a second in the halves of \
             the window, {} apart (at most {} allowed)",
            percent(apart),
            percent(MOST)
        ),
    ))
}
