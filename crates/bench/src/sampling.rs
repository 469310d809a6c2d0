//! Cost of the sampler with 1000 running threads and 256 groups at ten rounds per second.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_record::run_folder::SamplerCost;
use assay_record::sample::{
    Choice, CpuFile, GroupTarget, MemoryFiles, ProcessTarget, Processes, Sampler, SamplerAffinity,
    Targets, prepare_chosen,
};
use assay_sys::kernel::{Root, signal};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;

/// The observed threads and groups.
const THREADS: usize = 1000;
const GROUPS: usize = 256;

/// Duration of each round, in seconds.
const SECONDS: u64 = 5;

/// Target for the fraction of one core used by sampling.
const TARGET: f64 = 0.005;

const CONFIDENCE: f64 = 0.95;

const PERCENT: Shown = Shown { factor: 100.0, unit: "% of one core", decimals: 3 };

/// Threads that each wake up more than ten times per second: all of them change between two
/// readings, which is the worst case.
struct Crowd {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crowd {
    fn start() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut crowd = Self { stop: Arc::clone(&stop), threads: Vec::with_capacity(THREADS) };
        for _ in 0..THREADS {
            let stop = Arc::clone(&stop);
            let body = move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(90));
                }
            };
            let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(body);
            crowd.threads.push(
                thread
                    .map_err(|cause| Failure::Failed(format!("cannot start a thread: {cause}")))?,
            );
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Measures `rounds` rounds. The host is always restored, after SIGKILL by means of the ledger in
/// `folder`.
pub(crate) fn measure(folder: &Path, rounds: usize) -> Result<Figure, Failure> {
    with_ledger(&folder.join("sampling-state"), "bench-sampling", |root, ledger| {
        with_groups(folder, rounds, root, ledger)
    })
}

fn with_groups(
    folder: &Path,
    rounds: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Figure, Failure> {
    let facts = assay_host::gather(root)?;
    let counts = if facts.cgroup.is_on_v2("cpu") { "cpu" } else { "cpuacct" };
    let (hierarchies, absent) = facts.cgroup.hierarchies_with([counts, "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let top = format!("assay-bench-sampling-{}", std::process::id());
    let tree = Tree::create(root, ledger, &hierarchies, &top)?;
    let names: Vec<String> = (1..=GROUPS).map(|number| format!("g{number}")).collect();
    for name in &names {
        tree.make(name, false)?;
    }
    let is_v2 = facts.cgroup.is_on_v2("memory");
    let targets = targets(&tree, &names, counts, is_v2);
    let _crowd = Crowd::start()?;
    let mut costs = Vec::new();
    let mut busiest: f64 = 0.0;
    for round in 0..rounds {
        busiest = busiest.max(idle_wait::wait()?);
        let samples = folder.join(format!("sampling-{round}"));
        std::fs::create_dir_all(&samples)
            .map_err(|cause| Failure::Failed(format!("{}: {cause}", samples.display())))?;
        costs.push(ours(root, &targets, &samples)?);
        if let Some(signal) = signal::interrupted_by() {
            return Err(Failure::Interrupted(signal));
        }
    }
    figure(&costs, busiest)
}

/// CPU time and memory of these groups, and all threads of this process.
fn targets(tree: &Tree, names: &[String], counts: &str, is_v2: bool) -> Targets {
    let group = |name: &String| {
        let directory = |controller: &str| {
            tree.directory(name, controller).ok_or_else(|| "no such hierarchy".to_owned())
        };
        GroupTarget {
            name: name.clone(),
            io: Err("not part of this figure".to_owned()),
            cpu: directory(counts).map(|directory| match counts {
                "cpu" => CpuFile::CpuStat(directory.join("cpu.stat")),
                _ => CpuFile::Cpuacct(directory.join("cpuacct.usage")),
            }),
            pressure: None,
            memory: directory("memory").map(|directory| MemoryFiles { directory, is_v2 }),
        }
    };
    let of = Processes::Tree { pid: std::process::id(), itself: true };
    Targets {
        groups: names.iter().map(group).collect(),
        processes: Ok(vec![ProcessTarget { name: "crowd".to_owned(), of }]),
        ..Targets::default()
    }
}

fn ours(root: &Root, targets: &Targets, samples: &Path) -> Result<SamplerCost, Failure> {
    let choice = Choice::Also(vec!["threads".to_owned()]);
    let prepared = prepare_chosen(root, targets, &choice);
    let affinity = SamplerAffinity::unrestricted("the crowd of this figure is everywhere");
    let sampler = Sampler::start(prepared, samples, Duration::from_millis(100), affinity)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let waited = idle_wait::pause(Duration::from_secs(SECONDS));
    let outcome = sampler.stop();
    waited?;
    match outcome.failure {
        Some(error) => Err(Failure::Failed(error.to_string())),
        None => Ok(outcome.cost),
    }
}

fn figure(costs: &[SamplerCost], busiest: f64) -> Result<Figure, Failure> {
    let own: Vec<f64> = costs.iter().map(|cost| cost.cpu_s / cost.wall_s).collect();
    let cost = Estimate::mean(&own, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    let name = format!("sampling {THREADS} threads and {GROUPS} groups");
    let mut figure = Figure::bound(&name, cost, TARGET, &PERCENT);
    figure.remarks.push(format!(
        "{} rounds of {SECONDS} s at 10 Hz; every thread has run between two readings",
        own.len()
    ));
    figure.remarks.push(split(costs));
    figure.remarks.extend(idle_wait::remark(busiest));
    Ok(figure)
}

/// The parts of the sources in the CPU time of all rounds, the largest first.
fn split(costs: &[SamplerCost]) -> String {
    let whole: f64 = costs.iter().map(|cost| cost.cpu_s).sum();
    let mut parts: BTreeMap<&str, f64> = BTreeMap::new();
    for (source, cpu_s) in costs.iter().flat_map(|cost| &cost.by_source_s) {
        *parts.entry(source).or_default() += cpu_s / whole;
    }
    let sources: f64 = parts.values().sum();
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.push(("waking and writing", 1.0 - sources));
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let part = |(name, part): &(&str, f64)| format!("{name} {:.0} %", part * 100.0);
    let parts: Vec<String> = parts.iter().filter(|(_, part)| *part > 0.01).map(part).collect();
    format!("of it {}", parts.join(", "))
}
