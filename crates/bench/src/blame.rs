//! `assay blame` against truths by construction: how far each class is from what is known, how far the sum is from the
//! kernel's counter, and how often a proof agrees with attribution.
//!
//! Needs no other program than a shell, `taskset` and `timeout`, so that one static binary can be carried to a host.

mod row;
mod situation;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_host::gather;
use assay_kernel::{Root, signal};
use assay_sample::waits::CpuHierarchy;

use crate::csv::Csv;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::pairs::{Jobs, Pair, pairs};
use crate::progress;
use row::{HEADING, Row, figures};
use situation::{ALL, Question, Situation};
use watch::Place;

/// Runs of each situation, unless requested otherwise.
pub(crate) const RUNS: u32 = 20;

/// Extent and destination.
pub(crate) struct Campaign {
    pub(crate) runs: usize,
    /// No situation is begun that would end later than this.
    pub(crate) at_most: Option<Duration>,
    /// A file that gets a line for each class and run.
    pub(crate) csv: Option<PathBuf>,
}

/// Makes all situations, each run of all of them before the next: first those that take seconds, then the proofs.
pub(crate) fn measure(folder: &Path, campaign: &Campaign) -> Result<Vec<Figure>, Failure> {
    let facts = gather(&Root::real())?;
    let hierarchy = CpuHierarchy::new(&facts).map_err(|error| Failure::from_display(&error))?;
    let table = Table::open(campaign.csv.as_deref())?;
    let (proofs, truths): (Vec<_>, Vec<_>) =
        ALL.iter().partition(|one| matches!(one.question, Question::Proof));
    let rounds = |of: Vec<&'static Situation>| {
        (1..=campaign.runs).flat_map(move |run| of.clone().into_iter().map(move |one| (one, run)))
    };
    let runs = rounds(truths).chain(rounds(proofs));
    let jobs = Jobs::new(runs.collect(), campaign.at_most);
    let each = |cpus: Pair, (situation, run): &(&Situation, usize)| {
        let place = Place { facts: &facts, hierarchy: &hierarchy, folder, cpus };
        let tag = format!("{}-{}-{run}-{}", situation.slug(), cpus[0], std::process::id());
        let watched = situation.watch(&place, &tag);
        match signal::interrupted_by() {
            Some(_) => Ok(()),
            None => table.add(Row::all(situation, *run, cpus, watched)),
        }
    };
    jobs.on_all(&pairs(&facts)?, |(situation, _)| situation.length(), each)?;
    if let Some(signal) = signal::interrupted_by() {
        progress(&format!("interrupted by {signal}: partial results"));
    }
    Ok(figures(&table.rows()))
}

/// All rows so far, and their file.
struct Table(Mutex<(Vec<Row>, Csv)>);

impl Table {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self(Mutex::new((Vec::new(), Csv::open(path, HEADING)?))))
    }

    fn add(&self, rows: Vec<Row>) -> Result<(), Failure> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            progress(&row.csv());
            guard.1.add(&row.csv())?;
            guard.0.push(row);
        }
        Ok(())
    }

    fn rows(self) -> Vec<Row> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).0
    }
}
