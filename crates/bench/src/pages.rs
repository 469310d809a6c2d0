//! Cost of determining the NUMA nodes of a large process's pages once per second, and the deviation
//! from `numa_maps`, which is exact and walks all page tables.

use std::path::Path;
use std::time::Duration;

use assay_kernel::Root;
use assay_kernel::anonymous_memory::{HugePages, Pages, page_size};
use assay_kernel::clock::thread_cpu_ns;
use assay_kernel::parse::numa_maps::areas;
use assay_run_folder::{Table, read_tables};
use assay_sample::{
    Choice, ProcessTarget, Processes, Sampler, SamplerAffinity, Targets, prepare_chosen,
};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;

/// Size of the process, if the machine has three times as much available.
const BYTES: usize = 8 << 30;

/// Duration of each round, in seconds.
const SECONDS: u64 = 5;

/// Target for the fraction of one core used by the map, and for the deviation of a share.
const TARGET: f64 = 0.001;
const OFF: f64 = 0.02;

const CONFIDENCE: f64 = 0.95;

const PERCENT: Shown = Shown { factor: 100.0, unit: "% of one core", decimals: 4 };
const POINTS: Shown = Shown { factor: 100.0, unit: "points", decimals: 2 };
const PART: Shown = Shown { factor: 1.0, unit: "of numa_maps", decimals: 4 };

/// Measures `rounds` rounds over memory of this process.
pub(crate) fn measure(folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let root = Root::real();
    let bytes = BYTES.min(available(&root).unwrap_or(0) / 3);
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let mut memory: Pages<u64> =
        Pages::zeroed(bytes / 8, HugePages::Never).map_err(|error| failed(&error))?;
    memory.iter_mut().step_by(page_size() / 8).for_each(|word| *word = 1);
    let (mut costs, mut pairs, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        idle_wait::wait()?;
        let samples = folder.join(format!("pages-{round}"));
        std::fs::create_dir_all(&samples).map_err(|error| failed(&error))?;
        let cost = sampled(&root, &samples)?;
        let (exact, exact_s) = exact(&root)?;
        let tables = read_tables(&samples).map_err(|error| failed(&error))?;
        let table = tables.iter().find(|table| table.source == "pages");
        let table = table.ok_or_else(|| failed(&"no pages were sampled"))?;
        off.push(farthest(table, &exact));
        costs.push(cost);
        pairs.push((exact_s, cost));
    }
    figures(bytes, (&costs, &pairs, &off))
}

/// Available memory in bytes (`MemAvailable`).
fn available(root: &Root) -> Option<usize> {
    let text = root.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok()?.checked_mul(1024)
}

/// CPU seconds of one reading by the sampler, which reads once per second.
fn sampled(root: &Root, samples: &Path) -> Result<f64, Failure> {
    let of = Processes::Tree { pid: std::process::id(), itself: true };
    let processes = Ok(vec![ProcessTarget { name: "large".to_owned(), of }]);
    let targets = Targets { processes, ..Targets::default() };
    let prepared = prepare_chosen(root, &targets, &Choice::Also(vec!["pages".to_owned()]));
    let affinity = SamplerAffinity::unrestricted("this figure measures no group");
    let sampler = Sampler::start(prepared, samples, Duration::from_secs(1), affinity)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let waited = idle_wait::pause(Duration::from_secs(SECONDS));
    let outcome = sampler.stop();
    waited?;
    let pages = outcome.cost.sources.get("pages");
    pages
        .map(|pages| pages.cpu_s / pages.rounds.max(1) as f64)
        .ok_or_else(|| Failure::Failed("this kernel does not report the nodes of pages".to_owned()))
}

/// Exact share of each node in all pages, and the kernel's CPU seconds for numa_maps.
fn exact(root: &Root) -> Result<(Vec<(u16, f64)>, f64), Failure> {
    let before = thread_cpu_ns();
    let text =
        root.read("/proc/self/numa_maps").map_err(|error| Failure::Failed(error.to_string()))?;
    let seconds = (thread_cpu_ns() - before) as f64 / 1e9;
    let mut on: Vec<(u16, f64)> = Vec::new();
    for (node, bytes) in areas(&text).flat_map(|area| area.on) {
        match on.iter_mut().find(|(known, _)| *known == node) {
            Some((_, sum)) => *sum += bytes as f64,
            None => on.push((node, bytes as f64)),
        }
    }
    let all: f64 = on.iter().map(|(_, bytes)| bytes).sum();
    on.iter_mut().for_each(|(_, bytes)| *bytes /= all.max(1.0));
    Ok((on, seconds))
}

/// Largest deviation of any row from the exact share of any node.
fn farthest(table: &Table, exact: &[(u16, f64)]) -> f64 {
    let resident = table.column("resident_bytes");
    let mut farthest: f64 = 0.0;
    for (node, share) in exact {
        let column = table.column(&format!("node{node}_bytes"));
        for row in 0..table.time_ns.len() {
            let on = column.and_then(|column| column.values[row]);
            let all = resident.and_then(|column| column.values[row]);
            if let (Some(on), Some(all)) = (on, all) {
                farthest = farthest.max((on as f64 / all.max(1) as f64 - share).abs());
            }
        }
    }
    farthest
}

fn figures(
    bytes: usize,
    (costs, pairs, off): (&[f64], &[(f64, f64)], &[f64]),
) -> Result<Vec<Figure>, Failure> {
    let few = || Failure::Failed("too few rounds for an interval".to_owned());
    let size = format!("{:.1} GiB", bytes as f64 / (1 << 30) as f64);
    let cost = Estimate::mean(costs, CONFIDENCE).ok_or_else(few)?;
    let mut figure =
        Figure::bound(&format!("pages of {size}, once a second"), cost, TARGET, &PERCENT);
    figure.remarks.push(format!("{} rounds of {SECONDS} s", costs.len()));
    let off = Estimate::mean(off, CONFIDENCE).ok_or_else(few)?;
    let mut far = Figure::bound("pages: the farthest share from numa_maps", off, OFF, &POINTS);
    far.remarks.push("on a machine with one node this shows nothing".to_owned());
    let mut figures = vec![figure, far];
    if let Some(ratio) = Estimate::ratio(pairs, CONFIDENCE) {
        figures.push(Figure::bound("pages: CPU time by that of numa_maps", ratio, 0.1, &PART));
    }
    Ok(figures)
}
