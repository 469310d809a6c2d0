//! ycsb: the Yahoo! Cloud Serving Benchmark on RocksDB. docs/load/storage.md describes the
//! definitions and how they are met.

mod client;
mod command_line;
mod distribution;
mod hash;
mod java_text;
mod measure;
mod outcome;
mod output;
mod properties;
mod random;
mod record;
mod rocksdb;
mod run;
mod sequence;
mod settings;
mod shipped;
mod size;
mod status;
mod store;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::generator::{Finished, Generator, Report};
use crate::measured::Backing;
use crate::output::Reporter;
pub(crate) use command_line::normalize_arguments;
use outcome::Outcome;
use properties::Properties;
use rocksdb::RocksDb;
use settings::{Settings, Target};
use store::Basic;

/// Arguments as in `bin/ycsb`. `-threads` and `-target` may be written with one dash.
#[derive(Debug, Clone, Args)]
pub(crate) struct Ycsb {
    /// Insert the records, or execute the operations
    #[arg(value_enum)]
    phase: Phase,
    /// Where the records are stored
    #[arg(value_enum)]
    binding: Binding,
    /// Property file; several apply in order; `workloada` to `workloadf` need no file
    #[arg(short = 'P', value_name = "FILE")]
    files: Vec<String>,
    /// Property; overrides the files
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    properties: Vec<String>,
    /// Operations per second, all threads together
    #[arg(long, value_name = "N")]
    target: Option<u64>,
    /// Print status lines while it runs
    #[arg(short = 's')]
    status: bool,
    /// Prefix of status lines
    #[arg(short = 'l', value_name = "LABEL")]
    label: Option<String>,
}

/// The phase to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// insert `recordcount` records
    Load,
    /// execute `operationcount` operations
    Run,
}

/// A store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Binding {
    /// RocksDB in the directory `rocksdb.dir`
    Rocksdb,
    /// no store: the cost of the client itself
    Basic,
}

impl Generator for Ycsb {
    const NAME: &'static str = "ycsb";
    const ABOUT: &'static str = "Reads, writes and scans of records in RocksDB, workloads a to f";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        Ok(size::footprint(&self.settings(shared)?.0))
    }

    fn storage(&self, shared: &Shared) -> Result<Option<Value>, Failure> {
        Ok(size::storage(&self.settings(shared)?.0))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        let (settings, warnings) = self.settings(shared)?;
        warnings.iter().for_each(|warning| reporter.line(warning));
        if settings.operations == 0 && settings.max_seconds == 0 {
            reporter.line(
                "neither operationcount nor maxexecutiontime is set: it runs until it is interrupted",
            );
        }
        let (outcome, backing) = execute(&settings, shared, reporter)?;
        finish(&settings, &outcome, backing, reporter)
    }
}

fn execute(
    settings: &Settings,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Result<(Outcome, Backing), Failure> {
    let (seed, ready) = (shared.seed, || shared.ready());
    match &settings.target {
        Target::Basic => run::run(settings, seed, || Ok(Basic), ready, reporter),
        Target::RocksDb(location) => {
            run::run(settings, seed, || RocksDb::open(location), ready, reporter)
        }
    }
}

/// Builds the report, writes files, and checks whether the result is valid.
fn finish(
    settings: &Settings,
    outcome: &Outcome,
    backing: Backing,
    reporter: &dyn Reporter,
) -> Result<Finished, Failure> {
    let measuring = &settings.measuring;
    let mut text = outcome.status_lines.iter().map(|line| format!("{line}\n")).collect();
    write_result(
        output::raw(outcome, measuring, began_ms(outcome)),
        measuring.raw_file.as_deref(),
        &mut text,
    )?;
    write_result(
        output::exported(outcome, measuring),
        measuring.export_file.as_deref(),
        &mut text,
    )?;
    if let Err(failure) = outcome.check() {
        // The lines are not a result any more, but they show the progress.
        text.lines().for_each(|line| reporter.line(line));
        return Err(failure);
    }
    let missing = outcome.measurements.returned_by_any(store::Status::NotFound);
    if missing > 0 {
        reporter.line(&format!(
            "warning: {missing} operations found no record\n  hint: load first, with the same \
             recordcount, insertorder and zeropadding"
        ));
    }
    let json = output::json(outcome, settings);
    Ok(Finished { report: Report { text, json }, backing })
}

/// Writes text to its file, or to stdout if there is none.
fn write_result(text: String, file: Option<&Path>, stdout: &mut String) -> Result<(), Failure> {
    match file {
        None => stdout.push_str(&text),
        Some(file) => std::fs::write(file, text).map_err(|error| Failure::Unable {
            what: format!("cannot write {}: {error}", file.display()),
            remedy: "choose another `exportfile` or `measurement.raw.output_file`".to_owned(),
        })?,
    }
    Ok(())
}

/// Start of the run in milliseconds since 1970.
fn began_ms(outcome: &Outcome) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ago = assay_sys::kernel::clock::monotonic_ns() - outcome.began;
    u64::try_from(now.as_millis()).unwrap_or(0).saturating_sub(ago / 1_000_000)
}

/// Checks the bytes of a property file; returns what is wrong with them.
pub fn check_properties(bytes: &[u8]) -> Result<(), Failure> {
    let mut properties = Properties::default();
    properties.load("properties", bytes)?;
    Settings::read(&properties, Phase::Run, Binding::Basic).map(|_| ())
}

#[cfg(test)]
mod tests;
