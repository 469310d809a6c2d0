//! Disturbances of the whole host: its hypervisor, its clock, swapping, and another scheduler.

use crate::verdict::wording::percent;
use assay_host::facts::Available;
use assay_stats::series;

use super::{Evidence, Finding, Rule, Scope, overrides_recorded};
use crate::cpus;
use crate::repeat::Repeat;

/// `sched-ext`: no BPF program schedules the CPUs.
///
/// Such a scheduler need not obey `cpu.weight`, and whether it does is unknown
/// (Documentation/scheduler/sched-ext.rst).
///
/// Evaluated where it was recorded.
pub(super) const SCHED_EXT: Rule = Rule::each("sched-ext", Scope::CpuShares, sched_ext)
    .when(overrides_recorded)
    .proves("C-SCHED-EXT", "a BPF program schedules the CPUs, which need not obey weights");

fn sched_ext(_: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
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

/// Allowed part of all CPUs.
const MOST_STOLEN: f64 = 0.1;

/// `steal`: the hypervisor took little CPU time while a disk was divided. For shares of CPU time
/// the check `others` covers it.
///
/// A machine that is stopped for a tenth of the time submits requests late.
pub(super) const STEAL: Rule = Rule::each("steal", Scope::IoShares, steal)
    .proves("C-STEAL", "the hypervisor took CPU time away while the disk was divided");

fn steal(_: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let found = cpus::spent(repeat, None).map(|spent| of_steal(spent.steal, MOST_STOLEN));
    Finding::or_unverified(found)
}

/// Whether the hypervisor took at most this part of the CPUs.
pub(super) fn of_steal(steal: f64, most: f64) -> Finding {
    let (took, allowed) = (percent(steal), percent(most));
    let evidence = format!("the hypervisor took {took} of the CPUs (at most {allowed} allowed)");
    Finding::new(steal <= most, evidence)
}

/// All accounting categories of CPU time (proc_stat(5)).
const CPU_TIME: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];

/// Allowed difference of the halves: counters of idle CPUs are updated in ticks.
const MOST_APART: f64 = 0.1;

/// `clock`: the clock of the samples agrees with the accounted CPU time.
///
/// A rate is a difference of counters divided by a difference of times. A guest stopped by its
/// hypervisor, or a stepped clock, shows as CPU time that does not add up: the accounted CPU
/// seconds per second must agree between both halves of the window.
///
/// Evaluated where CPU time of the host was sampled.
pub(super) const CLOCK: Rule = Rule::each("clock", Scope::Sampled, clock)
    .when(|evidence| evidence.has_table("host_cpu"))
    .proves("C-CLOCK", "the clock jumped, or the machine was stopped, while the repeat ran");

fn clock(_: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    Finding::or_unverified(halves(repeat))
}

fn halves(repeat: &Repeat<'_>) -> Result<Finding, String> {
    let series = repeat.table("host_cpu")?.sum("host", &CPU_TIME)?;
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
        apart <= MOST_APART,
        format!(
            "the CPUs account for {first:.2} and {second:.2} CPU seconds a second in the halves of \
             the window, {} apart (at most {} allowed)",
            percent(apart),
            percent(MOST_APART)
        ),
    ))
}

/// Limit in pages a second in both directions: 1 MiB/s of 4 KiB pages.
const MOST_SWAPPED: f64 = 256.0;

/// `swap`: the host did not swap, which costs disk, CPU and waiting time.
///
/// Evaluated where /proc/vmstat was sampled and shares are promised. Where a memory limit is
/// tested, swapping may be its effect, and is reported with the limit.
pub(super) const SWAP: Rule = Rule::each("swap", Scope::Shares, swap)
    .when(|evidence| evidence.has_table("vmstat"))
    .proves("C-SWAP", "the host swapped, so that groups waited for memory and not for their share");

fn swap(_: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let grown = repeat.growth("vmstat", "host", &["pswpin", "pswpout"]);
    Finding::or_unverified(grown.map(|(grown, seconds)| of_swap_rate(grown / seconds)))
}

/// Whether so many pages a second are few.
pub(super) fn of_swap_rate(rate: f64) -> Finding {
    let evidence = format!(
        "{rate:.0} pages a second were swapped in or out (at most {MOST_SWAPPED:.0} allowed)"
    );
    Finding::new(rate <= MOST_SWAPPED, evidence)
}
