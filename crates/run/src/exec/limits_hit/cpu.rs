//! CPU bandwidth and CPU weights.

use assay_host::facts::Available;

use super::{Binding, LimitHit, figure};
use crate::exec::amount::{percent, seconds};
use crate::exec::usage::ResourceUsage;

/// Waiting for a CPU below this fraction of the wall time is ordinary scheduler noise.
const NOISE: f64 = 0.01;

/// A host is contended when this fraction of its CPUs is busy.
const CONTENDED: f64 = 0.9;

/// Others count as competitors when they use this fraction of the host's CPUs.
const OTHERS: f64 = 0.05;

/// A quota is hit in each period in which it is used up.
pub(super) fn max(used: &ResourceUsage) -> LimitHit {
    let throttling = match &used.throttling {
        Available::Value(throttling) => throttling,
        Available::NotAvailable(why) => return LimitHit::missing(why),
    };
    let average = used_cpus(used);
    let figures = format!(
        "{} of {} periods throttled{} ({average})",
        throttling.throttled,
        throttling.periods,
        match throttling.throttled {
            0 => String::new(),
            _ => format!(
                ", {} of waiting, {} of the wall time",
                seconds(throttling.time_s),
                percent(throttling.time_s / used.wall_s.max(1e-6))
            ),
        }
    );
    LimitHit::bound_if(throttling.throttled > 0, figures)
}

/// A weight matters only while the group and others compete for the same CPUs.
pub(super) fn weight(others: &[&str], used: &ResourceUsage) -> LimitHit {
    let (stall, busy, cpu) = match (&used.cpu_pressure, &used.host_busy, &used.cpu_s) {
        (Available::Value(stall), Available::Value(busy), Available::Value(cpu)) => {
            (stall, *busy, *cpu)
        }
        (Available::NotAvailable(why), ..)
        | (_, Available::NotAvailable(why), _)
        | (.., Available::NotAvailable(why)) => return LimitHit::missing(why),
    };
    let wall = used.wall_s.max(1e-6);
    let own = cpu / (wall * used.host_cpus.max(1) as f64);
    let elsewhere = (busy - own).max(0.0);
    let waited = stall.some_s / wall;
    let figures = format!(
        "host {} busy, {} of it by others; waited for a CPU {} of the wall time (PSI)",
        percent(busy),
        percent(elsewhere),
        percent(waited.min(1.0))
    );
    if busy < CONTENDED || elsewhere < OTHERS || waited < NOISE {
        return LimitHit::new(Binding::DidNotBind, format!("nothing contended: {figures}"));
    }
    if others.iter().any(|file| ["cpu.max", "cpu.cfs_quota_us"].contains(file)) {
        let figures = format!("{figures}; part of the waiting may be due to the quota");
        return LimitHit::new(Binding::Undecided, figures);
    }
    LimitHit::new(Binding::Bound, figures)
}

pub(super) fn used_cpus(used: &ResourceUsage) -> String {
    figure(&used.cpus_on_average, |cpus| match cpus {
        cpus if *cpus < 1.0 => format!("used {} of a CPU", percent(*cpus)),
        cpus => format!("used {cpus:.2} CPUs"),
    })
}
