//! Start skew and sampling cost, both from the same runs of many groups.

use std::path::PathBuf;

use assay_host::facts::Available;
use assay_record::run_folder::{Manifest, RepeatRecord, Run};

use crate::assay::Assay;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::study;

/// Target in seconds between the first I/O of the first and of the last group.
const SKEW: f64 = 0.020;

/// Target for the fraction of one core used by sampling.
const COST: f64 = 0.01;

const CONFIDENCE: f64 = 0.95;

/// Duration of a repeat, in seconds.
const SECONDS: f64 = 5.0;

const MILLISECONDS: Shown = Shown { factor: 1e3, unit: "ms", decimals: 1 };
const OF_A_CORE: Shown = Shown { factor: 100.0, unit: "% of a core", decimals: 2 };

/// Runs `groups` groups `repeats` times. The manifest is the template of a longer run.
pub(crate) fn measure(
    assay: &Assay,
    groups: u32,
    repeats: usize,
) -> Result<(Vec<Figure>, Manifest), Failure> {
    let busy = idle_wait::wait()?;
    let (folder, manifest) = run(assay, groups, repeats)?;
    let readings = readings(&Run::load(&folder)?);
    // The disk image was removed with the run; the remaining files are small, but no longer needed.
    let _ = std::fs::remove_dir_all(folder);
    let records: Vec<&RepeatRecord> =
        manifest.trials.iter().flat_map(|trial| &trial.repeats).collect();
    let mut figures = vec![skew(groups, &records)?, cost(groups, &records)?];
    figures[1].remarks.extend(readings);
    for figure in &mut figures {
        figure.remarks.extend(idle_wait::remark(busy));
    }
    Ok((figures, manifest))
}

/// A short real run of `groups` groups, the template of longer ones.
pub(crate) fn model(assay: &Assay, groups: u32) -> Result<Manifest, Failure> {
    let (folder, manifest) = run(assay, groups, 1)?;
    let _ = std::fs::remove_dir_all(folder);
    Ok(manifest)
}

fn run(assay: &Assay, groups: u32, repeats: usize) -> Result<(PathBuf, Manifest), Failure> {
    assay.run("starts", &study::many_groups(groups, repeats, SECONDS))
}

/// How often the counters of one group were read, since not all are read in every round.
fn readings(run: &Run) -> Option<String> {
    let tables = run.samples.first()?.first()?;
    let count = |source: &str, column: &str| {
        let table = tables.iter().find(|table| table.source == source)?;
        Some(table.series(table.subjects.first()?, column).count())
    };
    Some(format!(
        "read of each group in {SECONDS} s: bytes {} times, requests {} times, CPU time {} times",
        count("io", "read_bytes")?,
        count("io", "read_ios")?,
        count("cpu", "usage_ns")?
    ))
}

fn skew(groups: u32, records: &[&RepeatRecord]) -> Result<Figure, Failure> {
    let mut seconds = Vec::new();
    for record in records {
        match &record.start_skew_s {
            Available::Value(skew) => seconds.push(*skew),
            Available::NotAvailable(reason) => return Err(Failure::Failed(reason.clone())),
        }
    }
    let spread: Vec<f64> = records
        .iter()
        .map(|record| record.all_released_ns.saturating_sub(record.released_ns) as f64 / 1e9)
        .collect();
    let name = format!("start skew of {groups} groups");
    let mut figure = Figure::bound(&name, median(&seconds)?, SKEW, &MILLISECONDS);
    let spread = median(&spread)?;
    figure.remarks = vec![
        format!(
            "median [smallest, largest] of {} repeats; first I/O of the first group to first I/O of the last",
            records.len()
        ),
        format!(
            "releasing all of them took {} (worst {})",
            MILLISECONDS.value(spread.value),
            MILLISECONDS.value(spread.high)
        ),
    ];
    Ok(figure)
}

fn cost(groups: u32, records: &[&RepeatRecord]) -> Result<Figure, Failure> {
    let of_core = |seconds: f64, record: &RepeatRecord| seconds / record.sampler.wall_s.max(1e-9);
    let all: Vec<f64> =
        records.iter().map(|record| of_core(record.sampler.cpu_s, record)).collect();
    let name = format!("sampling {groups} groups at 10 Hz");
    // A cost adds up over time, so the mean counts and not the worst moment.
    let mean = Estimate::mean(&all, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few repeats for an interval".to_owned()))?;
    let mut figure = Figure::bound(&name, mean, COST, &OF_A_CORE);
    figure.remarks.push(format!(
        "mean [{:.0} % interval] of {} repeats, the worst of them {}",
        CONFIDENCE * 100.0,
        records.len(),
        OF_A_CORE.value(median(&all)?.high)
    ));
    let mut split = Vec::new();
    let Some(first) = records.first() else { return Ok(figure) };
    for source in first.sampler.by_source_s.keys() {
        let cost = |record: &&RepeatRecord| {
            let seconds = record.sampler.by_source_s.get(source).copied().unwrap_or(0.0);
            of_core(seconds, record)
        };
        let part = median(&records.iter().map(cost).collect::<Vec<_>>())?;
        split.push(format!("{source} {:.3} %", part.value * 100.0));
    }
    let missed: u64 = records.iter().map(|record| record.sampler.missed).sum();
    let rounds: u64 = records.iter().map(|record| record.sampler.rounds).sum();
    figure.remarks.push(format!("by source: {}; the rest is writing", split.join(", ")));
    figure.remarks.push(format!("{missed} of {} rounds left out", rounds + missed));
    Ok(figure)
}

/// The median of a non-empty list of measurements.
pub(crate) fn median(values: &[f64]) -> Result<Estimate, Failure> {
    Estimate::median(values).ok_or_else(|| Failure::Failed("nothing was measured".to_owned()))
}
