//! Memory limits.

use assay_host::facts::Available;

use super::{LimitHit, figure};
use crate::exec::amount::{bytes, count, seconds};
use crate::exec::usage::{Peak, ResourceUsage};

/// A hard limit is hit when a charge failed at it, which starts reclaim, or when a process was killed.
pub(super) fn max(used: &ResourceUsage) -> LimitHit {
    let hits = match &used.memory_max_hits {
        Available::Value(hits) => *hits,
        Available::NotAvailable(why) => return LimitHit::missing(why),
    };
    let kills = used.oom_kills.value().copied().unwrap_or(0);
    let peak = peak(&used.memory_peak);
    if hits == 0 && kills == 0 {
        return LimitHit::bound_if(false, format!("0 times at the limit ({peak})"));
    }
    let killed = figure(&used.oom_kills, |kills| {
        format!("{} killed", count(*kills, "process", "processes"))
    });
    let figures = format!(
        "{} at the limit, {killed} ({peak}){}{}",
        count(hits, "time", "times"),
        cost(used),
        left(used)
    );
    LimitHit::bound_if(true, figures)
}

/// Above `memory.high` the group is throttled and its memory reclaimed, but nothing is killed.
pub(super) fn high(used: &ResourceUsage) -> LimitHit {
    match &used.memory_high_hits {
        Available::Value(hits) => {
            let times = count(*hits, "time", "times");
            let cost = if *hits > 0 { cost(used) } else { String::new() };
            let peak = peak(&used.memory_peak);
            LimitHit::bound_if(*hits > 0, format!("{times} over the mark ({peak}){cost}"))
        }
        Available::NotAvailable(why) => LimitHit::missing(why),
    }
}

/// A limit on swap, or on memory and swap together.
pub(super) fn swap(used: &ResourceUsage) -> LimitHit {
    match &used.swap_max_hits {
        Available::Value(hits) => {
            let times = count(*hits, "time", "times");
            LimitHit::bound_if(
                *hits > 0,
                format!("{times} at the limit ({})", peak(&used.swap_peak)),
            )
        }
        Available::NotAvailable(why) => LimitHit::missing(why),
    }
}

fn peak(available: &Available<Peak>) -> String {
    figure(available, |peak| {
        format!("{} {}", if peak.sampled { "sampled peak" } else { "peak" }, bytes(peak.value))
    })
}

/// What was still charged at the end, which counted at the limit as well.
fn left(used: &ResourceUsage) -> String {
    /// Less is not what filled a limit.
    const LEAST: u64 = 1 << 20;
    let Some(left) = used.memory_left.value() else { return String::new() };
    let kinds = [
        (left.shmem, "of files in memory (/dev/shm, tmpfs)"),
        (left.page_cache, "of page cache"),
        (left.anonymous, "of anonymous memory"),
        (left.kernel.unwrap_or(0), "of the kernel's"),
    ];
    let large = kinds.iter().filter(|(size, _)| *size >= LEAST);
    let parts: Vec<String> = large.map(|(size, what)| format!("{} {what}", bytes(*size))).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("; left at the end: {}", parts.join(", ")),
    }
}

/// The cost of staying below the limit, as far as it is counted.
fn cost(used: &ResourceUsage) -> String {
    let refaults = used.refaults.value().filter(|pages| **pages > 0);
    let stalled = used.memory_pressure.value().filter(|stall| stall.some_s > 0.0);
    let mut parts = Vec::new();
    if let Some(pages) = refaults {
        parts.push(format!("{} refaulted", count(*pages, "page", "pages")));
    }
    if let Some(stall) = stalled {
        parts.push(format!("stalled {} (PSI some)", seconds(stall.some_s)));
    }
    parts.iter().map(|part| format!("; {part}")).collect()
}
