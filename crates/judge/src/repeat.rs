//! One repeat with its record, samples and window.

use assay_blame::Evidence;
use assay_record::run_folder::sorted::Sorted;
use assay_record::run_folder::{
    GroupRecord, RepeatRecord, Table, TrialRecord, WarmUpRecord, WorkloadRecord, WorkloadResult,
    sorted,
};
use assay_record::terms::Measure;
use assay_stats::start::warm_up_s;
use assay_stats::{Grid, series};

/// A repeat with its judged window.
#[derive(Clone)]
pub struct Repeat<'r> {
    /// Index in the manifest, counted from 1.
    pub number: usize,
    /// Its record.
    pub record: &'r RepeatRecord,
    /// Its samples.
    pub tables: &'r [Table],
    /// Start of the judged window: the common start plus the warm-up.
    pub start_ns: u64,
    /// End of the judged window.
    pub end_ns: u64,
    /// Seconds of warm-up.
    pub warm_up_s: f64,
    /// Grids of the measures with a promise.
    grids: Vec<(Measure, Result<Grids, String>)>,
}

/// One measure in one repeat.
#[derive(Clone)]
struct Grids {
    /// All observed data, including warm-up.
    observed: Grid,
    /// The judged window.
    judged: Grid,
}

/// The events and the window are to be so much of the same seconds.
pub const COVERS: f64 = 0.8;

/// The part of these that may precede the judged window. A warm-up that is found in the data has up to a fifth, in
/// whole steps.
const MOST_WARM_UP: f64 = 0.25;

/// Whether the events' group is this group of a promise or one inside it: only the innermost groups have threads of
/// their own, so events name these.
pub fn is_part(group: &str, of: &str) -> bool {
    group.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'r> Repeat<'r> {
    /// Determines the window and resamples every measure with a promise.
    pub fn new(
        number: usize,
        trial: &TrialRecord,
        record: &'r RepeatRecord,
        tables: &'r [Table],
        groups: &[&str],
        measures: &[Measure],
    ) -> Self {
        let common = record.released_ns.max(record.all_released_ns);
        let end = record.stopped_ns.max(common);
        let length_s = (end - common) as f64 * 1e-9;
        // A warm-up fixed by the study was never promised; the automatic one was.
        let fixed_s = match trial.warm_up {
            WarmUpRecord::Seconds(seconds) => seconds.clamp(0.0, length_s),
            WarmUpRecord::Auto => 0.0,
        };
        let from = common + (fixed_s * 1e9) as u64;
        let cut_s = match trial.warm_up {
            WarmUpRecord::Seconds(_) => 0.0,
            WarmUpRecord::Auto => warm_up_s(length_s),
        };
        let warm_up_s = fixed_s + cut_s;
        let grids = |&measure: &Measure| {
            let observed = resample(record, tables, measure, groups, from, end);
            let found = observed.map(|observed| {
                let steps = (cut_s / observed.step_s()).ceil() as usize;
                Grids { judged: observed.cut(steps), observed }
            });
            (measure, found)
        };
        let grids = measures.iter().map(grids).collect();
        let start_ns = (common + (warm_up_s * 1e9) as u64).min(end);
        Self { number, record, tables, start_ns, end_ns: end, warm_up_s, grids }
    }

    fn grids(&self, measure: Measure) -> Result<&Grids, String> {
        let found = self.grids.iter().find(|(wanted, _)| *wanted == measure);
        found.map_or_else(
            || Err("not resampled".to_owned()),
            |(_, grids)| grids.as_ref().map_err(Clone::clone),
        )
    }

    /// The round it was part of, counted from 1: a trial that was skipped in some rounds has fewer
    /// repeats than rounds, and samples are named by round.
    pub fn round(&self) -> usize {
        let of_samples = self.record.samples.rsplit_once("-repeat-");
        let counted = of_samples.and_then(|(_, number)| number.parse::<usize>().ok());
        counted.map_or(self.number, |from_zero| from_zero.saturating_add(1))
    }

    /// A measure over the judged window, or why it is missing.
    pub fn grid(&self, measure: Measure) -> Result<&Grid, String> {
        self.grids(measure).map(|grids| &grids.judged)
    }

    /// A measure over all observed seconds, or why it is missing.
    pub fn observed(&self, measure: Measure) -> Result<&Grid, String> {
        self.grids(measure).map(|grids| &grids.observed)
    }

    /// A measure without a promise, over the same window as the others.
    pub fn resampled(&self, measure: Measure, groups: &[&str]) -> Result<Grid, String> {
        match self.grids.iter().any(|(known, _)| *known == measure) {
            true => self.grid(measure).cloned(),
            false => {
                resample(self.record, self.tables, measure, groups, self.start_ns, self.end_ns)
            }
        }
    }

    /// Seconds of the judged window covered by samples.
    pub fn window_s(&self) -> f64 {
        let covered =
            self.grids.iter().filter_map(|(_, grids)| Some(grids.as_ref().ok()?.judged.seconds()));
        covered.reduce(f64::min).unwrap_or((self.end_ns - self.start_ns) as f64 * 1e-9)
    }

    /// What eBPF programs saw of this repeat, which covers its whole common window and not only the judged
    /// one; or why there is none. Groups of the study have its names in it, others a path from `/`.
    pub fn evidence(&self) -> Result<&'r Evidence, String> {
        self.record.evidence().ok_or_else(|| {
            let why = self.record.not_available.get("evidence");
            why.cloned().unwrap_or_else(|| "the run recorded no evidence".to_owned())
        })
    }

    /// Seconds from the common start to the end.
    pub fn common_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.record.all_released_ns) as f64 * 1e-9
    }

    /// Whether events of so many seconds are about the judged ones. They count from the common start on, and what happened in a
    /// long warm-up moved no share after it.
    pub fn is_covered_by(&self, seconds: f64) -> bool {
        let window = self.common_s();
        seconds >= COVERS * window
            && seconds * COVERS <= window
            && self.warm_up_s <= MOST_WARM_UP * window
    }

    /// The result of a workload of a group.
    pub fn result(
        &self,
        group: &GroupRecord,
        workload: &WorkloadRecord,
    ) -> Option<&'r WorkloadResult> {
        let mut all = self.record.workloads.iter();
        all.find(|result| result.workload == workload.name && result.group == group.name)
    }

    /// The table of a source, or why it is missing.
    pub fn table(&self, source: &str) -> Result<Sorted<'r>, String> {
        Sorted::find(self.tables, source)
            .ok_or_else(|| why_missing(self.record, self.tables, source))
    }

    /// Growth of the sum of these counters of one subject over the judged window, and the seconds
    /// it covers.
    pub fn growth(
        &self,
        source: &str,
        subject: &str,
        columns: &[&str],
    ) -> Result<(f64, f64), String> {
        self.grown(&self.table(source)?, subject, columns)
    }

    /// The same for a known table.
    pub fn grown(
        &self,
        table: &Sorted<'_>,
        subject: &str,
        columns: &[&str],
    ) -> Result<(f64, f64), String> {
        let series = table.sum(subject, columns)?;
        series::growth(&series, self.start_ns, self.end_ns)
            .ok_or_else(|| format!("the samples of `{}` do not cover the window", table.source()))
    }
}

fn why_missing(record: &RepeatRecord, tables: &[Table], source: &str) -> String {
    if let Some(why) = record.not_available.get(source) {
        return why.clone();
    }
    if tables.is_empty() {
        return "the samples of this repeat are lost".to_owned();
    }
    format!("the run has no samples of `{source}`")
}

fn resample(
    record: &RepeatRecord,
    tables: &[Table],
    measure: Measure,
    groups: &[&str],
    from_ns: u64,
    to_ns: u64,
) -> Result<Grid, String> {
    let source = measure.source();
    let table = Sorted::find(tables, source).ok_or_else(|| why_missing(record, tables, source))?;
    sorted::resample(&table, measure, groups, from_ns, to_ns).map_err(|missing| {
        // The sampler's reason for a missing column is more informative.
        let reasons = &record.not_available;
        let known = measure.columns().iter().find_map(|name| {
            reasons.get(&format!("{source}.{name}")).or_else(|| reasons.get(source))
        });
        known.map_or(missing.clone(), |why| format!("{missing} ({why})"))
    })
}
