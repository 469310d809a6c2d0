//! Resource usage of the command and its descendants.

mod io;

use assay_host::facts::{Available, HostFacts};
use assay_sys::kernel::child::ChildrenUsage;
use serde::Serialize;

use crate::exec::counters::{Counters, first, lenient_keyed, map, then};
pub use crate::exec::peaks::Peak;
use crate::exec::peaks::Peaks;

pub use io::{DeviceIo, Io};

/// CFS bandwidth control counters (`cpu.stat`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Throttling {
    /// Periods in which the group was runnable.
    pub periods: u64,
    /// Periods in which it used up its quota.
    pub throttled: u64,
    /// Time its run queues waited for the next period, summed over CPUs, in seconds.
    pub time_s: f64,
}

/// Pressure stall information of the group (Documentation/accounting/psi.rst).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stall {
    /// Seconds in which some task waited.
    pub some_s: f64,
    /// Seconds in which all non-idle tasks waited.
    pub full_s: f64,
}

/// What a group's memory consists of when its last process has ended, in bytes (`memory.stat`). Nothing but a removal of files
/// frees what is in `/dev/shm` and other file systems in memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryLeft {
    /// Anonymous memory: of processes that another group took, or that were killed a moment ago.
    pub anonymous: u64,
    /// Files in memory: `/dev/shm`, tmpfs, and shared memory.
    pub shmem: u64,
    /// Page cache of other files.
    pub page_cache: u64,
    /// Memory of the kernel for the group: stacks, page tables, slab.
    pub kernel: Option<u64>,
}

/// All counters, each a value or the reason why it is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResourceUsage {
    /// From the command's start to the end of the last process, in seconds.
    pub wall_s: f64,
    /// CPU time, in seconds.
    pub cpu_s: Available<f64>,
    /// The user-mode part of it.
    pub user_s: Available<f64>,
    /// The kernel-mode part of it.
    pub system_s: Available<f64>,
    /// Average number of CPUs used.
    pub cpus_on_average: Available<f64>,
    /// CPU time on each CPU, by CPU number, in seconds.
    pub cpu_by_number_s: Available<Vec<f64>>,
    /// Throttling by `cpu.max`.
    pub throttling: Available<Throttling>,
    /// Peak memory, including page cache, in bytes.
    pub memory_peak: Available<Peak>,
    /// What of it is left at the end.
    pub memory_left: Available<MemoryLeft>,
    /// Peak swap, in bytes.
    pub swap_peak: Available<Peak>,
    /// Number of charges that failed at `memory.max`.
    pub memory_max_hits: Available<u64>,
    /// Number of times that the group was over `memory.high`.
    pub memory_high_hits: Available<u64>,
    /// Number of charges that failed at a swap limit.
    pub swap_max_hits: Available<u64>,
    /// Processes killed by the OOM killer.
    pub oom_kills: Available<u64>,
    /// Pages that were evicted and soon needed again.
    pub refaults: Available<u64>,
    /// Bytes read from and written to disks.
    pub io: Available<Io>,
    /// Peak number of processes and threads.
    pub processes_peak: Available<Peak>,
    /// Forks refused because of `pids.max`.
    pub forks_refused: Available<u64>,
    /// Waiting for a CPU.
    pub cpu_pressure: Available<Stall>,
    /// Waiting for memory.
    pub memory_pressure: Available<Stall>,
    /// Waiting for disks.
    pub io_pressure: Available<Stall>,
    /// Fraction of all the host's CPUs that was busy meanwhile, including this command.
    pub host_busy: Available<f64>,
    /// Number of online CPUs of the host.
    pub host_cpus: usize,
    /// Number of memory nodes of the host.
    pub host_nodes: usize,
}

/// Measurements from outside the group's files.
pub(crate) struct OutsideCounters<'r> {
    pub(crate) wall_s: f64,
    pub(crate) peaks: &'r Peaks,
    pub(crate) children: ChildrenUsage,
    pub(crate) host_busy: Available<f64>,
}

const NANOSECOND: f64 = 1e-9;
const MICROSECOND: f64 = 1e-6;

/// Reads every counter.
pub(crate) fn read(
    counters: &Counters,
    facts: &HostFacts,
    outside: &OutsideCounters,
) -> ResourceUsage {
    let has_swap = facts.swap.get() > 0;
    let cpu_s = cpu(counters);
    let part = |key| map(counters.keyed_on_v2("cpu.stat", key), |time| time as f64 * MICROSECOND);
    let wall = outside.wall_s.max(1e-6);
    ResourceUsage {
        wall_s: outside.wall_s,
        cpus_on_average: map(cpu_s.clone(), |time| time / wall),
        cpu_s,
        user_s: first(part("user_usec"), || nanoseconds(counters, "cpuacct.usage_user")),
        system_s: first(part("system_usec"), || nanoseconds(counters, "cpuacct.usage_sys")),
        cpu_by_number_s: then(
            counters.text("cpuacct", "cpuacct.usage_percpu"),
            "CPU time by CPU",
            |text| {
                text.split_whitespace().map(|n| Some(n.parse::<f64>().ok()? * NANOSECOND)).collect()
            },
        ),
        throttling: throttling(counters),
        memory_peak: outside.peaks.memory(counters),
        memory_left: memory_left(counters),
        swap_peak: outside.peaks.swap(counters, has_swap),
        memory_max_hits: first(counters.keyed("memory", "memory.events", "max"), || {
            counters.number("memory", "memory.failcnt")
        }),
        memory_high_hits: counters.keyed("memory", "memory.events", "high"),
        swap_max_hits: first(counters.keyed("memory", "memory.swap.events", "max"), || {
            counters.number("memory", "memory.memsw.failcnt")
        }),
        oom_kills: oom_kills(counters),
        refaults: refaults(counters),
        io: io::read(counters, outside.children),
        processes_peak: outside.peaks.processes(counters),
        forks_refused: counters.keyed("pids", "pids.events", "max"),
        cpu_pressure: stall(counters, "cpu.pressure"),
        memory_pressure: stall(counters, "memory.pressure"),
        io_pressure: stall(counters, "io.pressure"),
        host_busy: outside.host_busy.clone(),
        host_cpus: facts.cpus.online.len(),
        host_nodes: facts.memory_nodes.len(),
    }
}

fn cpu(counters: &Counters) -> Available<f64> {
    first(
        map(counters.keyed_on_v2("cpu.stat", "usage_usec"), |time| time as f64 * MICROSECOND),
        || nanoseconds(counters, "cpuacct.usage"),
    )
}

fn nanoseconds(counters: &Counters, file: &str) -> Available<f64> {
    map(counters.number("cpuacct", file), |time| time as f64 * NANOSECOND)
}

/// v2 counts throttled time in microseconds, v1 in nanoseconds under another name.
fn throttling(counters: &Counters) -> Available<Throttling> {
    let count = |key| counters.keyed("cpu", "cpu.stat", key);
    let time = first(map(count("throttled_usec"), |time| time as f64 * MICROSECOND), || {
        map(count("throttled_time"), |time| time as f64 * NANOSECOND)
    });
    match (count("nr_periods"), count("nr_throttled"), time) {
        (Available::Value(periods), Available::Value(throttled), Available::Value(time_s)) => {
            Available::Value(Throttling { periods, throttled, time_s })
        }
        (Available::NotAvailable(why), ..)
        | (_, Available::NotAvailable(why), _)
        | (.., Available::NotAvailable(why)) => Available::NotAvailable(why),
    }
}

/// v1 has other names, which leave out groups below without `total_`; its kernel memory is a file of its own.
fn memory_left(counters: &Counters) -> Available<MemoryLeft> {
    let kernel = counters.number("memory", "memory.kmem.usage_in_bytes").value().copied();
    then(counters.text("memory", "memory.stat"), "kinds of memory in memory.stat", |text| {
        let count = |key| lenient_keyed(text, key);
        let shmem = count("total_shmem").or_else(|| count("shmem"))?;
        Some(MemoryLeft {
            anonymous: count("total_rss").or_else(|| count("anon"))?,
            shmem,
            page_cache: count("total_cache").or_else(|| count("file"))?.saturating_sub(shmem),
            kernel: kernel.or_else(|| count("kernel")),
        })
    })
}

fn oom_kills(counters: &Counters) -> Available<u64> {
    first(counters.keyed("memory", "memory.events", "oom_kill"), || {
        let text = counters.text("memory", "memory.oom_control");
        then(text, "oom_kill in memory.oom_control", |text| lenient_keyed(text, "oom_kill"))
    })
}

/// The sum for anonymous pages and page cache; kernels before 5.9 count both under one key.
fn refaults(counters: &Counters) -> Available<u64> {
    let text = counters.text("memory", "memory.stat");
    then(text, "refaults in memory.stat", |text| {
        let count = |key| lenient_keyed(text, key);
        match (count("workingset_refault_anon"), count("workingset_refault_file")) {
            (None, None) => count("workingset_refault"),
            (anon, file) => Some(anon.unwrap_or(0) + file.unwrap_or(0)),
        }
    })
}

fn stall(counters: &Counters, file: &str) -> Available<Stall> {
    let seconds = |kind| map(counters.stalled_us(file, kind), |time| time as f64 * MICROSECOND);
    match (seconds("some"), seconds("full")) {
        // Kernels before 5.13 have no `full` line for the CPU.
        (Available::Value(some_s), full) => {
            Available::Value(Stall { some_s, full_s: full.value().copied().unwrap_or(0.0) })
        }
        (Available::NotAvailable(why), _) => Available::NotAvailable(why),
    }
}
