//! Placement of workloads: applied before exec, and verified by what the kernel reports about every thread
//! and page while they run (proc_pid_stat(5), proc_pid_status(5), numa(7)).

mod counts;

pub(crate) use counts::Counts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_record::run_folder::{PlacementReading, PlacementRecord, RepeatRecord, WorkloadResult};
use assay_study::plan::Trial;
use assay_sys::kernel::bounded_query::BoundedQueries;
use assay_sys::kernel::clock::{monotonic_ns, thread_cpu_ns};
use assay_sys::kernel::parse::{keyed, maps, numa_maps};
use assay_sys::kernel::placement::{HugePageMode, Placement};
use assay_sys::kernel::{Error, Root, process};

use crate::runner::processes::Process;

/// Threads are examined ten times a second, as a thread may be moved every few milliseconds; less often if
/// that costs more than a fiftieth of a CPU.
const INTERVAL_NS: u64 = 100_000_000;
const LOOKS_PER_COST: u64 = 50;

/// The affinity of threads is read in every tenth examination.
const ALLOWED_EVERY: u64 = 10;

/// Pages are counted in every twentieth examination and at the end of the window, since a workload that has
/// ended has no pages left. The kernel walks all page tables for it.
const PAGES_EVERY: u64 = 20;

/// Time limit for reading a memory map, which a process may keep locked; the kernel walks 90 GiB in a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of files, by path and node.
type FilePages = BTreeMap<String, BTreeMap<u16, u64>>;

/// Number of files kept per workload, the largest.
const FILES: usize = 8;

/// The placement of a workload in the kernel's terms; empty for one without a placement.
pub(crate) fn placement(trial: &Trial, workload: &str) -> Placement {
    let Some(plan) = find(trial, workload) else { return Placement::default() };
    Placement {
        cpus: plan.cpus.clone(),
        memory: plan.memory.clone(),
        huge_pages: plan.huge_pages.as_deref().map(|mode| match mode {
            "never" => HugePageMode::Never,
            "advised" => HugePageMode::Advised,
            _ => HugePageMode::Default,
        }),
    }
}

fn find<'t>(trial: &'t Trial, workload: &str) -> Option<&'t PlacementRecord> {
    trial.placements.iter().find(|plan| plan.workload == workload)
}

/// Narrows the CPUs of each group, as defined by its cpuset, to those that its workloads are bound to:
/// activity on the other CPUs no longer concerns the group.
pub(crate) fn narrow(cpus: &mut BTreeMap<String, Available<String>>, trial: &Trial) {
    for group in trial.groups.iter().filter(|group| !group.workloads.is_empty()) {
        let names = group.workloads.iter().map(|workload| workload.name.as_str());
        let mut sets = names.map(|name| find(trial, name)?.cpus.as_ref());
        let Some(Some(first)) = sets.next() else { continue };
        if !sets.all(|set| set == Some(first)) {
            continue;
        }
        let allowed = cpus.get(&group.name).and_then(Available::value);
        let allowed: Option<assay_sys::units::CpuSet> = allowed.and_then(|text| text.parse().ok());
        let both: assay_sys::units::CpuSet = first
            .iter()
            .filter(|cpu| allowed.as_ref().is_none_or(|allowed| allowed.contains(*cpu)))
            .collect();
        cpus.insert(group.name.clone(), Available::Value(both.to_string()));
    }
}

/// Observes placed workloads.
pub(crate) struct PlacementObserver {
    root: Root,
    workloads: Vec<Workload>,
    host: Option<Counts>,
    due_ns: u64,
    queries: BoundedQueries,
}

struct Workload {
    plan: PlacementRecord,
    /// Its first process; all others descend from it.
    pid: u32,
    /// The list of processes of its group.
    processes: Option<PathBuf>,
    /// Cache: whether a process of the group belongs to it.
    is_own: BTreeMap<u32, bool>,
    /// The CPU of each thread when it was last examined, by its folder below /proc.
    last_cpu: BTreeMap<String, u16>,
    /// Why its pages cannot be counted, if one of its processes keeps its memory map locked.
    locked: Option<String>,
    reading: PlacementReading,
}

impl PlacementObserver {
    /// An observer without workloads.
    pub(crate) fn none(root: &Root) -> Self {
        Self {
            root: root.clone(),
            workloads: Vec::new(),
            host: None,
            due_ns: u64::MAX,
            queries: BoundedQueries::with_limit(PATIENCE),
        }
    }

    /// Observes the workloads of the trial that have a placement; `counts` were read before they started.
    pub(crate) fn new(
        root: &Root,
        tree: &Tree,
        trial: &Trial,
        processes: &[Process],
        host: Option<Counts>,
    ) -> Self {
        let placed = processes.iter().filter_map(|process| {
            let plan = find(trial, &process.workload)?.clone();
            let directory = tree.directories(&process.group).into_iter().next();
            Some(Workload {
                reading: PlacementReading {
                    workload: process.workload.clone(),
                    ..PlacementReading::default()
                },
                plan,
                pid: process.id(),
                processes: directory.map(|directory| directory.join("cgroup.procs")),
                is_own: BTreeMap::new(),
                last_cpu: BTreeMap::new(),
                locked: None,
            })
        });
        let workloads: Vec<Workload> = placed.collect();
        let any = !workloads.is_empty();
        Self {
            host,
            due_ns: if any { monotonic_ns() } else { u64::MAX },
            root: root.clone(),
            workloads,
            queries: BoundedQueries::with_limit(PATIENCE),
        }
    }

    /// CPU time of this thread, and of the one that counts pages for it.
    pub(crate) fn spent_ns(&self) -> u64 {
        thread_cpu_ns() + self.queries.spent_ns()
    }

    /// Examines every thread if it is due.
    pub(crate) fn look_if_due(&mut self) {
        let now = monotonic_ns();
        if now < self.due_ns {
            return;
        }
        let before = self.spent_ns();
        for workload in &mut self.workloads {
            workload.look(&self.root, &mut self.queries);
        }
        let cost = self.spent_ns() - before;
        self.due_ns = now + INTERVAL_NS.max(cost.saturating_mul(LOOKS_PER_COST));
    }

    /// Counts pages while the workloads still run, and adds everything to the record.
    pub(crate) fn finish(mut self, record: &mut RepeatRecord) {
        for workload in &mut self.workloads {
            workload.count_pages(&self.root, &mut self.queries);
        }
        record.placements = self.workloads.into_iter().map(|workload| workload.reading).collect();
        let root = &self.root;
        record.nodes = self.host.map(|before| before.until_now(root));
    }
}

/// The metric of a placed workload: of how many percent of the examinations of a thread it had another CPU than
/// the time before, a tenth of a second earlier.
const MOVES: &str = "thread_moves_percent";

/// Adds to the metrics of each workload what its placement shows.
pub(crate) fn add_metrics(placements: &[PlacementReading], results: &mut [WorkloadResult]) {
    for reading in placements.iter().filter(|reading| reading.followed > 0) {
        let part = reading.moved as f64 / reading.followed as f64;
        let own = results.iter_mut().filter(|one| one.workload == reading.workload);
        own.for_each(|result| {
            result.metrics.insert(MOVES.to_owned(), part * 100.0);
        });
    }
}

impl Workload {
    fn look(&mut self, root: &Root, queries: &mut BoundedQueries) {
        let with_allowed = self.reading.looks.is_multiple_of(ALLOWED_EVERY);
        self.reading.looks += 1;
        let mut threads = 0;
        let before = std::mem::take(&mut self.last_cpu);
        for pid in self.own_processes(root) {
            // Skips processes and threads that have just ended.
            for thread in root.directories(format!("/proc/{pid}/task")).unwrap_or_default() {
                let folder = format!("/proc/{pid}/task/{thread}");
                let Some(cpu) = assay_sys::kernel::affinity::last_cpu_at(root, &folder) else {
                    continue;
                };
                threads += 1;
                self.count_thread(cpu, before.get(&folder).copied());
                if with_allowed && let Ok(status) = root.read(format!("{folder}/status")) {
                    self.count_allowed(&status);
                }
                self.last_cpu.insert(folder, cpu);
            }
        }
        self.reading.threads = self.reading.threads.max(threads);
        if self.reading.looks.is_multiple_of(PAGES_EVERY) {
            self.count_pages(root, queries);
        }
    }

    fn count_thread(&mut self, cpu: u16, before: Option<u16>) {
        self.reading.samples += 1;
        self.reading.followed += u64::from(before.is_some());
        self.reading.moved += u64::from(before.is_some_and(|before| before != cpu));
        *self.reading.by_cpu.entry(cpu).or_default() += 1;
        if self.plan.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu)) {
            self.reading.on_cpus += 1;
        }
    }

    fn count_allowed(&mut self, status: &str) {
        let reading = &mut self.reading;
        for (key, counts) in [
            ("Cpus_allowed_list", &mut reading.allowed_cpus),
            ("Mems_allowed_list", &mut reading.allowed_nodes),
            ("THP_enabled", &mut reading.huge_pages),
        ] {
            if let Some(value) = keyed::colon(status, key) {
                *counts.entry(value.to_owned()).or_default() += 1;
            }
        }
    }

    /// The processes of the group that belong to this workload.
    fn own_processes(&mut self, root: &Root) -> Vec<u32> {
        let listed = self.processes.as_ref().and_then(|path| root.read(path).ok());
        let listed = listed.unwrap_or_else(|| self.pid.to_string());
        let all: Vec<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
        let first = self.pid;
        for pid in &all {
            self.is_own.entry(*pid).or_insert_with(|| is_below(root, *pid, first));
        }
        all.into_iter().filter(|pid| self.is_own.get(pid) == Some(&true)).collect()
    }

    fn count_pages(&mut self, root: &Root, queries: &mut BoundedQueries) {
        let mut pages: BTreeMap<u16, u64> = BTreeMap::new();
        let mut policies: BTreeMap<String, u64> = BTreeMap::new();
        let mut files = FilePages::new();
        let mut failure = None;
        for pid in self.own_processes(root) {
            let own_root = root.clone();
            match queries.run(pid, move || mapped(&own_root, pid)) {
                Ok(Ok((text, data))) => {
                    for (node, bytes) in numa_maps::anonymous(&text) {
                        *pages.entry(node).or_default() += bytes;
                    }
                    for (policy, bytes) in numa_maps::anonymous_by_policy(&text) {
                        *policies.entry(policy).or_default() += bytes;
                    }
                    for (path, nodes) in data {
                        let is_own = files.entry(path).or_default();
                        nodes.into_iter().for_each(|(node, bytes)| {
                            *is_own.entry(node).or_default() += bytes;
                        });
                    }
                }
                Ok(Err(error)) => failure = Some(error.to_string()),
                Err(why) => self.locked = Some(why),
            }
        }
        // Pages of only some of its processes would be misleading.
        if let Some(why) = &self.locked {
            self.reading.pages = Some(Available::NotAvailable(why.clone()));
            return;
        }
        // If it has ended since the last count, that count is kept.
        if pages.is_empty() && matches!(self.reading.pages, Some(Available::Value(_))) {
            return;
        }
        self.reading.policies = policies;
        self.reading.files = largest(files);
        self.reading.pages = Some(match failure {
            Some(why) if pages.is_empty() => Available::NotAvailable(why),
            _ => Available::Value(pages),
        });
    }
}

/// The contents of numa_maps of a process, and its mapped data files.
fn mapped(root: &Root, pid: u32) -> Result<(String, FilePages), Error> {
    let text = root.read(format!("/proc/{pid}/numa_maps"))?;
    let data = data_files(root, pid, &text);
    Ok((text, data))
}

/// The files that a process maps without execute permission: its data.
fn data_files(root: &Root, pid: u32, numa_maps: &str) -> FilePages {
    let mut files = numa_maps::files(numa_maps);
    if !files.is_empty() {
        let text = root.read(format!("/proc/{pid}/maps")).unwrap_or_default();
        let programs = maps::programs(&text);
        files.retain(|path, _| !programs.contains(path));
    }
    files
}

fn largest(files: FilePages) -> FilePages {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.values().sum::<u64>()));
    files.into_iter().take(FILES).collect()
}

/// Whether `pid` is `first` or one of its descendants, as far as their parents are still alive.
fn is_below(root: &Root, pid: u32, first: u32) -> bool {
    let mut at = Some(pid);
    // Limits the chain of parents, in case of a malformed file.
    for _ in 0..1000 {
        match at {
            Some(pid) if pid == first => return true,
            Some(pid) if pid > 1 => at = process::parent(root, pid),
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
pub(crate) mod tests;
