//! Measures the effect of Assay on a workload's throughput: fio alone compared with the same fio in
//! a run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::scratch::{self, Format, ScratchDisk, ScratchSpec, Source};
use assay_study::plan::{Trial, plan};
use assay_study::workload::fio::{Job, Target, parse_output};
use assay_sys::kernel::{Root, signal};
use assay_sys::units::Bytes;

use crate::assay::{Assay, write};
use crate::child;
use crate::failure::Failure;
use crate::figure::{Figure, would_decide};
use crate::idle_wait;
use crate::statistics::{Estimate, Reached, pairs_needed};
use crate::study;
use crate::with_ledger::with_ledger;

/// Margin and confidence of the equivalence of both throughputs.
const MARGIN: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;

/// Duration of each fio run, in seconds.
const SECONDS: f64 = 4.0;

/// Size of the disk.
const SIZE: Bytes = Bytes::mebi(512);

/// The group of fio alone: the same hierarchies as in a run, but without settings or sampling.
const GROUP: &str = "alone";

/// Measures `pairs` pairs on a loop disk below `folder`. The host is always restored, after SIGKILL
/// by means of the ledger in `folder`.
pub(crate) fn measure(assay: &Assay, folder: &Path, pairs: usize) -> Result<Figure, Failure> {
    with_ledger(&folder.join("bench-state"), "bench", |root, ledger| {
        with_disk(assay, folder, pairs, root, ledger)
    })
}

fn with_disk(
    assay: &Assay,
    folder: &Path,
    pairs: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Figure, Failure> {
    let stop = || signal::interrupted_by().is_some();
    let disk = scratch::set_up(root, ledger, &spec(folder), &stop, &mut |_| {})?;
    let text = study::one_group(&disk.device_path, disk.size.get(), SECONDS);
    let trial = planned(root, &text)?;
    let tree = Tree::create(
        root,
        ledger,
        &trial.hierarchies,
        &format!("assay-bench-{}", std::process::id()),
    )?;
    tree.make(GROUP, false)?;
    let alone = Alone { tree, job: job(&trial, &disk)?, folder: folder.join("alone") };
    let mut bench = Bench { assay, study: text, alone, runs: 0, busiest: 0.0 };
    // The first run of each warms caches and clocks; it is discarded.
    bench.alone()?;
    bench.within_assay()?;
    let mut ratios = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        ratios.push(bench.pair(pair % 2 == 0)?);
    }
    figure(&ratios, bench.busiest)
}

fn spec(folder: &Path) -> ScratchSpec {
    ScratchSpec {
        name: "bench".to_owned(),
        source: Source::Loop { image_dir: folder.to_owned(), size: SIZE },
        format: Format::None,
        partitions: 0,
        scheduler: Some("bfq".to_owned()),
        queue: vec![("iosched/low_latency".to_owned(), "0".to_owned())],
        mount_dir: folder.join("mnt"),
    }
}

/// The only trial of the study, so that fio alone gets exactly the job of a run.
fn planned(root: &Root, text: &str) -> Result<Trial, Failure> {
    let (study, findings) = assay_study::parse("bench", text, &|_| Err(String::new()));
    let study = study.ok_or_else(|| {
        let messages: Vec<String> = findings.into_iter().map(|found| found.message).collect();
        Failure::Failed(messages.join("; "))
    })?;
    let planned = plan(&study, &assay_host::gather(root)?, 1);
    if let Some(refusal) = planned.refusals.first() {
        return Err(Failure::Failed(format!("{}: {}", refusal.what, refusal.remedy)));
    }
    let first = planned.trials.into_iter().next();
    first.ok_or_else(|| Failure::Failed("the study has no trial".to_owned()))
}

fn job(trial: &Trial, disk: &ScratchDisk) -> Result<Job, Failure> {
    let workload = trial.groups.iter().find_map(|group| group.workloads.first());
    let workload =
        workload.ok_or_else(|| Failure::Failed("the study has no workload".to_owned()))?;
    let mut job = workload
        .job()
        .cloned()
        .ok_or_else(|| Failure::Failed("the workload is not a fio job".to_owned()))?;
    job.set_target(&Target::Device {
        path: disk.device_path.display().to_string(),
        offset: Bytes::new(0),
        size: disk.size,
    });
    job.set("runtime", format!("{SECONDS}s"));
    Ok(job)
}

/// fio without Assay.
struct Alone {
    tree: Tree,
    job: Job,
    folder: PathBuf,
}

struct Bench<'b> {
    assay: &'b Assay,
    study: String,
    alone: Alone,
    runs: usize,
    busiest: f64,
}

impl Bench<'_> {
    /// Throughput alone and in a run. Every other pair runs in the opposite order, so that a drift
    /// of the host cancels out.
    fn pair(&mut self, alone_first: bool) -> Result<(f64, f64), Failure> {
        self.busiest = self.busiest.max(idle_wait::wait()?);
        if alone_first {
            let alone = self.alone()?;
            Ok((alone, self.within_assay()?))
        } else {
            let within = self.within_assay()?;
            Ok((self.alone()?, within))
        }
    }

    fn alone(&mut self) -> Result<f64, Failure> {
        let Alone { tree, job, folder } = &self.alone;
        let failed =
            |cause: std::io::Error| Failure::Failed(format!("{}: {cause}", folder.display()));
        std::fs::create_dir_all(folder).map_err(failed)?;
        write(&folder.join("job.fio"), &job.to_job_file())?;
        let mut command = Command::new("fio");
        command
            .args(["--output-format=json", "--eta=never", "--output=fio.json", "job.fio"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut running = tree.membership(GROUP)?.spawn(&mut command)?;
        let status = child::wait(&mut running)?;
        if !status.success() {
            return Err(Failure::Failed(format!("fio alone ended with {status}")));
        }
        let text = std::fs::read_to_string(folder.join("fio.json")).map_err(failed)?;
        let output = parse_output(&text).map_err(|error| Failure::Failed(error.0))?;
        iops(output.metrics.get("read_iops").copied())
    }

    fn within_assay(&mut self) -> Result<f64, Failure> {
        self.runs += 1;
        let (folder, manifest) = self.assay.run(&format!("observer-{}", self.runs), &self.study)?;
        let _ = std::fs::remove_dir_all(folder);
        let repeats = manifest.trials.iter().flat_map(|trial| &trial.repeats);
        let mut results = repeats.flat_map(|repeat| &repeat.workloads);
        iops(results.next().and_then(|result| result.metrics.get("read_iops").copied()))
    }
}

fn iops(value: Option<f64>) -> Result<f64, Failure> {
    value
        .filter(|iops| *iops > 0.0)
        .ok_or_else(|| Failure::Failed("fio reported no reads".to_owned()))
}

fn figure(pairs: &[(f64, f64)], busiest: f64) -> Result<Figure, Failure> {
    let ratio = Estimate::ratio(pairs, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few pairs for an interval".to_owned()))?;
    let reached = ratio.is_one_within(MARGIN);
    let mut remarks = vec![format!(
        "mean ratio [{:.0} % interval] of {} pairs of {SECONDS} s, order ABBA; fio's own IOPS",
        CONFIDENCE * 100.0,
        pairs.len()
    )];
    if reached == Reached::Undecided {
        remarks.push(would_decide(pairs_needed(pairs, CONFIDENCE, MARGIN), "pairs"));
    }
    remarks.extend(idle_wait::remark(busiest));
    Ok(Figure {
        name: "throughput with Assay / without".to_owned(),
        measured: format!("{:.4} [{:.4}, {:.4}]", ratio.value, ratio.low, ratio.high),
        target: format!("1 within {:.0} %", MARGIN * 100.0),
        of_target: None,
        reached,
        remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_that_decides_nothing_reports_how_many_pairs_would() {
        let noisy = [(100.0, 104.0), (100.0, 96.0), (100.0, 103.0), (100.0, 97.0)];
        let figure = figure(&noisy, 0.0).unwrap();
        assert_eq!(figure.reached, Reached::Undecided);
        assert!(figure.remarks[1].contains("pairs would decide"), "{:?}", figure.remarks);
    }

    #[test]
    fn a_tenth_less_throughput_misses_the_target() {
        let slower = [(100.0, 90.0), (100.0, 90.5), (101.0, 91.0), (100.0, 89.8)];
        let figure = figure(&slower, 0.5).unwrap();
        assert_eq!(figure.reached, Reached::No);
        assert!(figure.remarks[1].contains("not quiet"), "{:?}", figure.remarks);
    }
}
