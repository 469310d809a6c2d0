//! Numbers that another tool measured, to be judged like a run.

mod checks;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use assay_judge::verdict::{Judgement, Verdict};
use assay_judge::{MeasuredShares, judge_shares};
use assay_record::run_folder::{PromiseRecord, RelationRecord};
use assay_study::workload::amounts::parse_amounts;
use assay_study::workload::fio::{Totals, job_names, parse_bandwidth_log, parse_totals, sum_jobs};
use assay_sys::exit::Error;
use assay_sys::files::input_text;

/// Files of numbers.
#[derive(Debug, Clone)]
pub enum Numbers {
    /// JSON of fio runs, one file per group; or one file with one job per group.
    Fio(Vec<PathBuf>),
    /// Bandwidth logs of fio, one file per group.
    BandwidthLogs(Vec<PathBuf>),
    /// A table with the columns group, time (s), and amount or total.
    Table(PathBuf),
}

/// A quantity in fio's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes read and written.
    Bytes,
    /// Requests read and written.
    Ios,
}

/// Files of numbers, and what they are judged against.
#[derive(Debug, Clone)]
pub struct ExternalFiles {
    /// The files.
    pub numbers: Numbers,
    /// The quantity.
    pub quantity: Quantity,
    /// Weight of each group, in the order of the files, jobs or first rows.
    pub weights: Vec<f64>,
    /// Allowed deviation of a share, relative to the promised share.
    pub within: f64,
}

/// External numbers and their promise.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalData {
    /// Title of the judgement, such as the names of the files.
    pub title: String,
    /// `io.bytes`, `io.ios`, or `amount` for unknown measures.
    pub measure: String,
    /// The groups and their weights.
    pub groups: Vec<ExternalGroup>,
    /// The margin, a fraction of the expected share.
    pub within: f64,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalGroup {
    /// Its name.
    pub name: String,
    /// Its weight, given by the user; above 0.
    pub weight: f64,
    /// The amounts it got.
    pub amounts: Amounts,
    /// Other known facts.
    pub facts: ExternalFacts,
}

/// The amounts a group got.
#[derive(Debug, Clone, PartialEq)]
pub enum Amounts {
    /// Cumulative amounts by nanoseconds on a common clock, in order of time.
    Series(Vec<(u64, f64)>),
    /// One total.
    Total {
        /// In units of the measure.
        amount: f64,
        /// Duration in seconds.
        seconds: f64,
    },
}

/// Facts reported by a tool about a group in addition to its amount; all optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalFacts {
    /// Why its numbers are invalid.
    pub failure: Option<String>,
    /// Start in seconds since any common epoch.
    pub began_s: Option<f64>,
    /// End in seconds since the same epoch.
    pub ended_s: Option<f64>,
    /// Requests that it kept outstanding on average, by Little's law.
    pub outstanding: Option<f64>,
    /// Requests that it was configured to keep outstanding.
    pub wanted: Option<f64>,
    /// An option that limits its rate, as text.
    pub paced: Option<String>,
    /// Whether it bypassed the page cache.
    pub direct: Option<bool>,
    /// The disk used, and the mean number of requests in its queue.
    pub disk: Option<(String, f64)>,
}

/// Reads numbers of another tool.
///
/// # Errors
/// A file cannot be read or understood, or the number of weights is not that of the groups.
pub fn read_external(files: &ExternalFiles) -> Result<ExternalData, Error> {
    read_all(files).map_err(Error::usage)
}

fn read_all(files: &ExternalFiles) -> Result<ExternalData, String> {
    let (groups, named) = match &files.numbers {
        Numbers::Fio(paths) => (groups_from_fio(paths, files.quantity)?, paths.as_slice()),
        Numbers::BandwidthLogs(paths) => (groups_from_logs(paths)?, paths.as_slice()),
        Numbers::Table(path) => (groups_from_table(path)?, std::slice::from_ref(path)),
    };
    let title: Vec<String> = named.iter().map(|file| stem(file)).collect();
    let measure = match (&files.numbers, files.quantity) {
        (Numbers::Table(_), _) => "amount",
        (_, Quantity::Bytes) => "io.bytes",
        (_, Quantity::Ios) => "io.ios",
    };
    Ok(ExternalData {
        title: title.join(", "),
        measure: measure.to_owned(),
        groups: weighted(groups, &files.weights)?,
        within: files.within,
    })
}

/// The largest size of a file of numbers, in bytes: a log of some ten million requests.
const MOST_NUMBERS: u64 = 1 << 30;

fn read(file: &Path) -> Result<String, String> {
    input_text(file, MOST_NUMBERS).map_err(|error| error.to_string())
}

fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Gives each group its weight.
fn weighted(mut groups: Vec<ExternalGroup>, weights: &[f64]) -> Result<Vec<ExternalGroup>, String> {
    if groups.len() != weights.len() {
        let names: Vec<String> = groups.iter().map(|group| format!("`{}`", group.name)).collect();
        return Err(format!(
            "there are {} groups ({}) and {} weights\n  hint: give one weight for each group, in \
             this order",
            groups.len(),
            names.join(", "),
            weights.len()
        ));
    }
    for (group, weight) in groups.iter_mut().zip(weights) {
        group.weight = *weight;
    }
    Ok(groups)
}

fn group(name: String, amounts: Amounts) -> ExternalGroup {
    ExternalGroup { name, weight: 0.0, amounts, facts: ExternalFacts::default() }
}

/// One group per file, or per job of a single file.
fn groups_from_fio(files: &[PathBuf], quantity: Quantity) -> Result<Vec<ExternalGroup>, String> {
    let mut groups = Vec::new();
    for file in files {
        let in_file = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let jobs = parse_totals(&read(file)?).map_err(|error| in_file(&error))?;
        if files.len() == 1 && jobs.len() > 1 {
            groups.extend(jobs);
        } else {
            let all = sum_jobs(&stem(file), &jobs)
                .ok_or_else(|| in_file(&format!("no job of {}", job_names(&jobs))))?;
            groups.push(all);
        }
    }
    let bytes = quantity == Quantity::Bytes;
    Ok(groups.into_iter().map(|totals| group_from_totals(totals, bytes)).collect())
}

fn group_from_totals(totals: Totals, bytes: bool) -> ExternalGroup {
    // fio prints its result when the job is over; without a recorded start, assume that it ran until
    // then.
    let began_s = totals.began_s.or_else(|| Some(totals.printed_s? - totals.runtime_s));
    let paced = match totals.stonewall {
        true => Some("stonewall".to_owned()),
        false => totals.paced,
    };
    ExternalGroup {
        name: totals.name,
        weight: 0.0,
        amounts: Amounts::Total {
            amount: if bytes { totals.bytes } else { totals.ios },
            seconds: totals.runtime_s,
        },
        facts: ExternalFacts {
            failure: totals.failure,
            began_s,
            ended_s: began_s.map(|began| began + totals.runtime_s),
            outstanding: totals.outstanding,
            wanted: totals.iodepth,
            paced,
            direct: totals.direct.or(Some(false)),
            disk: totals.disk,
        },
    }
}

fn groups_from_logs(files: &[PathBuf]) -> Result<Vec<ExternalGroup>, String> {
    let read_log = |file: &PathBuf| {
        let series = parse_bandwidth_log(&read(file)?);
        let series = series.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(group(stem(file), Amounts::Series(series)))
    };
    files.iter().map(read_log).collect()
}

fn groups_from_table(file: &Path) -> Result<Vec<ExternalGroup>, String> {
    let table = parse_amounts(&read(file)?);
    let table = table.map_err(|error| format!("{}: {error}", file.display()))?;
    let groups = table.into_iter().map(|(name, series)| group(name, Amounts::Series(series)));
    Ok(groups.collect())
}

/// Judges whether shares follow the weights. The judgement has one trial and one promise.
///
/// Verdicts on numbers measured outside of Assay: amounts over time, or only totals.
///
/// Nothing was set up or watched here, so much of what makes a verdict sound cannot be checked:
/// which weights were in force, whether the disk was the bottleneck. What the numbers themselves
/// show is checked, the rest is reported as unknown. One measurement is a fact about itself: its verdict is
/// undecided or void.
#[must_use]
pub fn judge_external(outside: &ExternalData) -> Judgement {
    let promise = PromiseRecord {
        measure: outside.measure.clone(),
        is: RelationRecord::Proportional("weight".to_owned()),
        within: outside.within,
        every: None,
    };
    let groups: Vec<(String, f64)> =
        outside.groups.iter().map(|group| (group.name.clone(), group.weight)).collect();
    let mut trial = judge_shares(&promise, &groups, measured(outside), checks::all(outside));
    // Failed checks are causes; nothing else can be examined here.
    if trial.verdict == Verdict::Void {
        trial.promises[0].causes = trial.validity.iter().filter_map(checks::cause).collect();
    }
    Judgement {
        schema: 1,
        study: outside.title.clone(),
        verdict: trial.verdict,
        trials: vec![trial],
        caveat: Some(
            "measured elsewhere: whether these weights were in force, and whether anything else \
             was running, cannot be checked; and one measurement is a fact and no verdict, which takes \
             repeats (`assay run`)"
                .to_owned(),
        ),
        ..Judgement::default()
    }
}

fn measured(outside: &ExternalData) -> Result<MeasuredShares, String> {
    let series = |group: &ExternalGroup| match &group.amounts {
        Amounts::Series(series) => Some((group.name.clone(), series.clone())),
        Amounts::Total { .. } => None,
    };
    if let Some(series) = outside.groups.iter().map(series).collect() {
        return MeasuredShares::over_time(series);
    }
    let rate = |group: &ExternalGroup| match group.amounts {
        Amounts::Total { amount, seconds } if seconds > 0.0 => Ok((amount / seconds, seconds)),
        Amounts::Total { .. } => Err("a group has a runtime of zero".to_owned()),
        Amounts::Series(_) => {
            Err("some groups have amounts over time and others only a total".to_owned())
        }
    };
    let rates = outside.groups.iter().map(rate).collect::<Result<Vec<_>, String>>()?;
    let window_s = rates.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
    Ok(MeasuredShares::Totals(rates.into_iter().map(|(rate, _)| rate).collect(), window_s))
}
