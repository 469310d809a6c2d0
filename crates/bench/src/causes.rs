//! Runs with and without a cause that is put into them: how often the kernel's events prove it, and how often
//! they prove it where it is not. The runs of both kinds alternate, so that what happens on the host meets both alike.

mod hog;
mod row;
mod sign;
mod studies;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_host::gather;
use assay_judge::judge;
use assay_kernel::{Root, signal};
use assay_run_folder::Run;
use assay_verdict::TrialJudgement;

use crate::assay::Assay;
use crate::csv::Csv;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::pairs::{Jobs, Pair, pairs};
use crate::progress;
use hog::Hog;
use row::{HEADING, Row, figures};
use studies::{ALL, Injected, study};

/// Runs of each kind, unless requested otherwise.
pub(crate) const RUNS: u32 = 20;

/// The folder of a run in its own.
const RUN: &str = "run";

/// Starting, preparing and ending a run.
const AROUND: Duration = Duration::from_secs(10);

/// Extent and destination.
pub(crate) struct Campaign<'c> {
    /// The `assay` program, and an existing folder for what it writes.
    pub(crate) program: &'c Path,
    pub(crate) folder: &'c Path,
    pub(crate) runs: usize,
    /// Seconds of each run; what each cause takes to be decided if there are none.
    pub(crate) seconds: Option<u64>,
    /// Only these causes; all if there are none.
    pub(crate) only: &'c [String],
    /// No run is begun that would end later than this.
    pub(crate) at_most: Option<Duration>,
    /// A file that gets a line for each run.
    pub(crate) csv: Option<PathBuf>,
    /// Where runs are kept. Those that are there already are judged again and not made, so that a changed rule is tried on
    /// them in seconds, and an interrupted campaign goes on.
    pub(crate) keep: Option<PathBuf>,
}

/// A run to be made.
struct Job {
    cause: &'static Injected,
    with: bool,
    number: usize,
}

/// Makes runs with each cause and as many without it, each number of all causes before the next.
pub(crate) fn measure(campaign: &Campaign<'_>) -> Result<Vec<Figure>, Failure> {
    let causes = selected(campaign.only)?;
    let of = |number| {
        let kinds = causes.iter().flat_map(|cause| [(*cause, true), (*cause, false)]);
        kinds.map(move |(cause, with)| Job { cause, with, number })
    };
    let jobs = Jobs::new((1..=campaign.runs).flat_map(of).collect(), campaign.at_most);
    let table = Mutex::new((Vec::new(), Csv::open(campaign.csv.as_deref(), HEADING)?));
    let length = |job: &Job| Duration::from_secs(job.cause.seconds(campaign.seconds)) + AROUND;
    let pairs = pairs(&gather(&Root::real())?)?;
    let busy = idle_wait::busy()?;
    let each = |cpus: Pair, job: &Job| {
        let row = match campaign.run(cpus, job) {
            Err(interrupted @ Failure::Interrupted(_)) => return Err(interrupted),
            ended => Row::new(job.cause, job.with, job.number, ended),
        };
        progress(&row.csv());
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        table.1.add(&row.csv())?;
        table.0.push(row);
        Ok(())
    };
    let ended = jobs.on_all(&pairs, length, each);
    if signal::interrupted_by().is_none() {
        ended?;
    }
    let rows = table.into_inner().unwrap_or_else(PoisonError::into_inner).0;
    Ok(figures(&causes, &rows, idle_wait::remark(busy).as_deref()))
}

/// The causes with these codes.
fn selected(codes: &[String]) -> Result<Vec<&'static Injected>, Failure> {
    let unknown = codes.iter().find(|code| ALL.iter().all(|cause| cause.code != **code));
    if let Some(code) = unknown {
        let known: Vec<&str> = ALL.iter().map(|cause| cause.code).collect();
        let known = known.join(", ");
        return Err(Failure::Failed(format!("no study puts in {code:?}; there are {known}")));
    }
    let is_selected =
        |cause: &&Injected| codes.is_empty() || codes.iter().any(|code| code == cause.code);
    Ok(ALL.iter().filter(is_selected).collect())
}

impl Campaign<'_> {
    fn run(&self, cpus: Pair, job: &Job) -> Result<TrialJudgement, Failure> {
        let kind = if job.with { "with" } else { "without" };
        let name = format!("{}-{}-{kind}", job.cause.code, job.number);
        if let Some(keep) = &self.keep {
            let folder = keep.join(name);
            return match judged(&folder.join(RUN)) {
                Ok(judgement) => Ok(judgement),
                // None yet, or one that was interrupted.
                Err(_) => self.make(cpus, job, &folder),
            };
        }
        let folder = self.folder.join(name);
        let judgement = self.make(cpus, job, &folder);
        // What is left goes with the folder of the bench.
        let _ = std::fs::remove_dir_all(folder);
        judgement
    }

    fn make(&self, cpus: Pair, job: &Job, folder: &Path) -> Result<TrialJudgement, Failure> {
        let Job { cause, with, .. } = *job;
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|cause| Failure::from_display(&cause))?;
        }
        std::fs::create_dir_all(folder).map_err(|cause| Failure::from_display(&cause))?;
        let assay = Assay::new(self.program, folder)?;
        let hogs = if with { Hog::start(cause.hogs, cpus)? } else { Vec::new() };
        let ended = assay.run(RUN, &study(cause, with, cpus, cause.seconds(self.seconds)));
        drop(hogs);
        judged(&ended?.0)
    }
}

/// The judgement of the trial with a promise.
fn judged(run: &Path) -> Result<TrialJudgement, Failure> {
    let run = Run::load(run)?;
    let judgement = judge(&run.manifest, &run.samples);
    let judged = judgement.trials.into_iter().find(|trial| !trial.promises.is_empty());
    judged.ok_or_else(|| Failure::Failed("nothing was judged".to_owned()))
}
