//! The CPUs that the measured groups share, their threads, and where the CPU time went.

use std::collections::BTreeMap;

use assay_host::facts::{Available, HostFacts};
use assay_record::run_folder::{GroupRecord, RepeatRecord, TrialRecord};
use assay_sys::units::CpuSet;

use crate::queue::is_measured;
use crate::repeat::Repeat;

/// Counters of a CPU that add up to all of its time.
const ALL: [&str; 8] =
    ["user_ns", "nice_ns", "system_ns", "idle_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns"];

/// The CPUs that the measured groups compete for, and how much each group can use.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The CPUs that every measured group may use.
    pub set: CpuSet,
    /// Concurrent threads of each measured group; absent where unknown.
    pub threads: BTreeMap<String, u32>,
}

impl Shared {
    /// The CPUs of the measured groups in one repeat; `None` where they were not recorded, as in
    /// runs of older versions. An error where groups may use different CPUs: they compete on some
    /// only, so that no shares follow from their weights.
    pub fn in_repeat(
        host: &HostFacts,
        trial: &TrialRecord,
        record: &RepeatRecord,
    ) -> Result<Option<Self>, String> {
        let measured = || trial.groups.iter().filter(|group| is_measured(group));
        let mut found: Option<(&str, CpuSet)> = None;
        for group in measured() {
            let set = usable(host, record, &group.name)?;
            match &found {
                Some((first, known)) if *known != set => {
                    return Err(format!(
                        "`{first}` may use the CPUs {known} and `{}` the CPUs {set}, so that they \
                         compete on some CPUs only",
                        group.name
                    ));
                }
                Some(_) => {}
                None => found = Some((&group.name, set)),
            }
        }
        let threads = measured().filter_map(|group| Some((group.name.clone(), threads(group)?)));
        let shared = found.map(|(_, set)| Self { set, threads: threads.collect() });
        Ok(shared.filter(|shared| !shared.set.is_empty()))
    }

    /// Number of CPUs.
    pub fn count(&self) -> f64 {
        self.set.len() as f64
    }

    /// `CPU 0` or `CPUs 0-1`.
    pub fn label(&self) -> String {
        let word = if self.set.len() == 1 { "CPU" } else { "CPUs" };
        format!("{word} {}", self.set)
    }

    /// The CPUs that a group can keep busy alone: as many as it has threads.
    pub fn demand(&self, group: &str) -> f64 {
        self.threads.get(group).map_or(self.count(), |n| f64::from(*n).min(self.count()))
    }
}

/// The CPUs that a group may use; without a cpuset those of the program that started it.
fn usable(host: &HostFacts, record: &RepeatRecord, group: &str) -> Result<CpuSet, String> {
    match record.cpus.get(group) {
        Some(Available::NotAvailable(why)) => {
            Err(format!("the CPUs of `{group}` are not available: {why}"))
        }
        Some(Available::Value(text)) => {
            text.parse().map_err(|_| format!("the CPUs of `{group}` read `{text}`"))
        }
        None => Ok(host.cpus.allowed.clone()),
    }
}

/// Threads of all workloads of a group; `None` where one is unknown, as of a group that exists.
fn threads(group: &GroupRecord) -> Option<u32> {
    if group.existing.is_some() {
        return None;
    }
    group.workloads.iter().map(|workload| workload.threads).sum()
}

/// Use of some CPUs' time, as parts of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// Idle. `iowait` is idle time in which a task of that CPU waits for a disk; the CPU was free.
    pub idle: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// Use of these CPUs over the judged window; of all CPUs of the host without a set.
pub fn spent(repeat: &Repeat<'_>, set: Option<&CpuSet>) -> Result<Spent, String> {
    let (source, subjects) = match set {
        Some(set) if repeat.table("cpus").is_ok() => {
            ("cpus", set.iter().map(|cpu| format!("cpu{cpu}")).collect())
        }
        _ => ("host_cpu", vec!["host".to_owned()]),
    };
    let table = repeat.table(source)?;
    let grown = |columns: &[&str]| -> Result<f64, String> {
        let mut sum = 0.0;
        for subject in &subjects {
            sum += repeat.grown(&table, subject, columns)?.0;
        }
        Ok(sum)
    };
    let all = grown(&ALL)?;
    if all <= 0.0 {
        return Err(format!("the counters of `{source}` did not move"));
    }
    Ok(Spent { idle: grown(&["idle_ns", "iowait_ns"])? / all, steal: grown(&["steal_ns"])? / all })
}

/// Use of one CPU's time, as parts of it.
#[derive(Debug, Clone, PartialEq)]
pub struct One {
    /// `cpu3`.
    pub name: String,
    /// Idle.
    pub idle: f64,
    /// In the kernel, interrupts included.
    pub kernel: f64,
    /// In interrupts and softirqs.
    pub interrupts: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// Use of every CPU of the host over the judged window; `None` where not sampled.
pub fn each(repeat: &Repeat<'_>) -> Option<Vec<One>> {
    let names = &repeat.tables.iter().find(|table| table.source == "cpus")?.subjects;
    let table = repeat.table("cpus").ok()?;
    let one = |name: &String| {
        let grown = |columns: &[&str]| Some(repeat.grown(&table, name, columns).ok()?.0);
        let all = grown(&ALL).filter(|all| *all > 0.0)?;
        Some(One {
            name: name.clone(),
            idle: grown(&["idle_ns", "iowait_ns"])? / all,
            kernel: grown(&["system_ns", "irq_ns", "softirq_ns"])? / all,
            interrupts: grown(&["irq_ns", "softirq_ns"])? / all,
            steal: grown(&["steal_ns"])? / all,
        })
    };
    names.iter().map(one).collect()
}

/// The part of one CPU's time that all groups of the trial used; `None` where the kernel does not
/// count groups per CPU (cgroup v2).
pub fn used_on(trial: &TrialRecord, repeat: &Repeat<'_>, cpu: &str) -> Option<f64> {
    let table = repeat.table("cpu_split").ok()?;
    let column = format!("{cpu}_ns");
    let mut sum = 0.0;
    for group in trial.groups.iter().filter(|group| group.is_loaded()) {
        let (grown, seconds) = repeat.grown(&table, &group.name, &[&column]).ok()?;
        sum += grown * 1e-9 / seconds;
    }
    Some(sum)
}

/// The part of the shared CPUs that processes outside the groups used.
pub fn others(
    trial: &TrialRecord,
    repeat: &Repeat<'_>,
    shared: &Shared,
    spent: Spent,
) -> Result<f64, String> {
    let busy = 1.0 - spent.idle - spent.steal;
    Ok((busy - used(trial, repeat)? / shared.count()).max(0.0))
}

/// CPUs that all groups of the trial together kept busy, measured or not.
pub fn used(trial: &TrialRecord, repeat: &Repeat<'_>) -> Result<f64, String> {
    let table = repeat.table("cpu")?;
    let mut sum = 0.0;
    // The counter of an outer group includes the groups inside it, on v1 and v2 alike.
    for group in trial.groups.iter().filter(|group| !group.name.contains('/')) {
        let (grown, seconds) = repeat.grown(&table, &group.name, &["usage_ns"])?;
        sum += grown * 1e-9 / seconds;
    }
    Ok(sum)
}
