//! Sets of CPUs and of NUMA nodes.

use assay_host::facts::Available;
use assay_sys::units::IdSet;

use super::{Binding, LimitHit};
use crate::exec::amount::percent;
use crate::exec::usage::ResourceUsage;

/// Fraction of a CPU set's capacity from which it counts as fully used, and so as the limit.
const ALL: f64 = 0.95;

/// Waiting for more than this fraction of the wall time may come from having too few CPUs.
const WAITED: f64 = 0.05;

/// CPU time below this many seconds is incidental, such as the exit of a process.
const INCIDENTAL: f64 = 0.001;

pub(super) fn cpus(reads: &str, others: &[&str], used: &ResourceUsage) -> LimitHit {
    let Ok(set) = reads.parse::<IdSet>() else {
        return LimitHit::missing(&format!("`{reads}` is not a list of CPUs"));
    };
    let average = match &used.cpus_on_average {
        Available::Value(average) => *average,
        Available::NotAvailable(why) => return LimitHit::missing(why),
    };
    let figures = format!(
        "{average:.2} of {} CPUs used on average ({}){}",
        set.len(),
        percent(average / set.len().max(1) as f64),
        on_which(used)
    );
    if set.len() >= used.host_cpus {
        return LimitHit::new(Binding::DidNotBind, format!("it holds every CPU: {figures}"));
    }
    if average >= ALL * set.len() as f64 {
        return LimitHit::new(Binding::Bound, figures);
    }
    let waited =
        used.cpu_pressure.value().map_or(0.0, |stall| stall.some_s / used.wall_s.max(1e-6));
    if waited < WAITED {
        return LimitHit::new(Binding::DidNotBind, figures);
    }
    // Others on these CPUs, a quota, or briefly more threads than CPUs: no counter shows which.
    let quota = others.iter().any(|file| ["cpu.max", "cpu.cfs_quota_us"].contains(file));
    let quota = if quota { ", partly for the quota" } else { "" };
    LimitHit::new(
        Binding::Undecided,
        format!("{figures}; waited for a CPU {} of the wall time{quota}", percent(waited.min(1.0))),
    )
}

fn on_which(used: &ResourceUsage) -> String {
    match &used.cpu_by_number_s {
        Available::Value(times) => {
            let busy = times.iter().enumerate().filter(|(_, time)| **time >= INCIDENTAL);
            let set: IdSet = busy.filter_map(|(cpu, _)| u16::try_from(cpu).ok()).collect();
            format!(", on {set}")
        }
        // cgroup2 has no per-CPU counter, and the sentence is complete without it.
        Available::NotAvailable(_) => String::new(),
    }
}

/// No counter shows where memory came from once the group is empty.
pub(super) fn mems(reads: &str, used: &ResourceUsage) -> LimitHit {
    let holds_all = reads.parse::<IdSet>().is_ok_and(|set| set.len() >= used.host_nodes);
    if holds_all {
        return LimitHit::new(Binding::DidNotBind, "it holds every memory node of this host");
    }
    LimitHit::new(
        Binding::Undecided,
        "no counter shows whether memory would have come from other nodes",
    )
}
