//! One repeat as it is judged: its record, its samples, its window.

use assay_record::{RepeatRecord, Table, TrialRecord, WarmUpRecord};

use crate::grid::Grid;
use crate::measure::Measure;
use crate::series::{self, Sorted};
use crate::warm_up;

/// A repeat with the window that its numbers stand for.
pub(crate) struct Repeat<'r> {
    /// Its place in the manifest, counted from 1 as users do.
    pub(crate) number: usize,
    /// What happened.
    pub(crate) record: &'r RepeatRecord,
    /// Its samples.
    pub(crate) tables: &'r [Table],
    /// Where the judged window starts: the common start and the warm-up after it.
    pub(crate) start_ns: u64,
    /// Where it ends.
    pub(crate) end_ns: u64,
    /// Seconds that were cut.
    pub(crate) warm_up_s: f64,
    /// False when the data never settled.
    pub(crate) settled: bool,
    /// Each measure on the judged window, or why it is missing.
    grids: Vec<(Measure, Result<Grid, String>)>,
}

impl<'r> Repeat<'r> {
    /// Finds the window and resamples every measure that a promise is about.
    pub(crate) fn new(
        number: usize,
        trial: &TrialRecord,
        record: &'r RepeatRecord,
        tables: &'r [Table],
        groups: &[&str],
        measures: &[Measure],
    ) -> Self {
        let common = record.released_ns.max(record.all_released_ns);
        let end = record.stopped_ns.max(common);
        let mut grids = Vec::new();
        for &measure in measures {
            grids.push((measure, resample(record, tables, measure, groups, common, end)));
        }
        let (warm_up_s, settled) = warm_up(trial.warm_up, &grids, (end - common) as f64 * 1e-9);
        for (_, grid) in &mut grids {
            if let Ok(grid) = grid {
                *grid = grid.cut((warm_up_s / grid.step_s()).ceil() as usize);
            }
        }
        let start_ns = (common + (warm_up_s * 1e9) as u64).min(end);
        Self { number, record, tables, start_ns, end_ns: end, warm_up_s, settled, grids }
    }

    /// The round that it was part of, counted from 1: a trial that rested for some rounds has
    /// fewer repeats than there were rounds, and samples bear the number of the round.
    pub(crate) fn round(&self) -> usize {
        let of_samples = self.record.samples.rsplit_once("-repeat-");
        let counted = of_samples.and_then(|(_, number)| number.parse::<usize>().ok());
        counted.map_or(self.number, |from_zero| from_zero + 1)
    }

    /// A measure on the judged window, or why it is missing.
    pub(crate) fn grid(&self, measure: Measure) -> Result<&Grid, String> {
        let found = self.grids.iter().find(|(wanted, _)| *wanted == measure);
        found.map_or_else(
            || Err("it was not resampled".to_owned()),
            |(_, grid)| grid.as_ref().map_err(Clone::clone),
        )
    }

    /// A measure that nothing is promised about, on the same window as those that are.
    pub(crate) fn resampled(&self, measure: Measure, groups: &[&str]) -> Result<Grid, String> {
        match self.grids.iter().find(|(known, _)| *known == measure) {
            Some((_, grid)) => grid.clone(),
            None => resample(self.record, self.tables, measure, groups, self.start_ns, self.end_ns),
        }
    }

    /// Seconds of the judged window that samples cover.
    pub(crate) fn window_s(&self) -> f64 {
        let covered =
            self.grids.iter().filter_map(|(_, grid)| grid.as_ref().ok()).map(Grid::seconds);
        covered.reduce(f64::min).unwrap_or((self.end_ns - self.start_ns) as f64 * 1e-9)
    }

    /// The table of a source, or why this host has none.
    pub(crate) fn table(&self, source: &str) -> Result<Sorted<'r>, String> {
        Sorted::find(self.tables, source)
            .ok_or_else(|| why_missing(self.record, self.tables, source))
    }

    /// How much the sum of these counters of one subject grew over the judged window, and over how
    /// many seconds of it.
    pub(crate) fn growth(
        &self,
        source: &str,
        subject: &str,
        columns: &[&str],
    ) -> Result<(f64, f64), String> {
        let series = self.table(source)?.sum(subject, columns)?;
        series::growth(&series, self.start_ns, self.end_ns)
            .ok_or_else(|| format!("the samples of `{source}` do not cover the window"))
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
    Grid::resample(&table, measure, groups, from_ns, to_ns).map_err(|missing| {
        // The sampler's own reason for a missing column says more than that it is missing.
        let reasons = &record.not_available;
        let known = measure.columns().iter().find_map(|name| {
            reasons.get(&format!("{source}.{name}")).or_else(|| reasons.get(source))
        });
        known.map_or(missing.clone(), |why| format!("{missing} ({why})"))
    })
}

/// The longest warm-up that any measure needs, in seconds, and whether all of them settled.
fn warm_up(
    wanted: WarmUpRecord,
    grids: &[(Measure, Result<Grid, String>)],
    common_s: f64,
) -> (f64, bool) {
    match wanted {
        WarmUpRecord::Seconds(seconds) => (seconds.clamp(0.0, common_s), true),
        WarmUpRecord::Auto => {
            let cuts = grids.iter().filter_map(|(_, grid)| grid.as_ref().ok()).map(|grid| {
                let cut = warm_up::find(grid);
                (cut.steps as f64 * grid.step_s(), cut.settled)
            });
            cuts.fold((0.0, true), |(longest, all), (seconds, settled)| {
                (f64::max(longest, seconds), all && settled)
            })
        }
    }
}
