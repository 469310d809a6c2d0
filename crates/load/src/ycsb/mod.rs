//! ycsb: the Yahoo! Cloud Serving Benchmark on RocksDB. The definitions and how they were met
//! stand in docs/load/storage.md.

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

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::generator::{Finished, Generator, Report};
use crate::measured::Backing;
use crate::output::Reporter;
pub(crate) use command_line::spelled;
use outcome::Outcome;
use properties::Properties;
use rocksdb::RocksDb;
use settings::{Settings, Target};
use store::Basic;

/// Arguments as those of `bin/ycsb`. `-threads` and `-target` may be written with one dash.
#[derive(Debug, Clone, Args)]
pub(crate) struct Ycsb {
    /// Insert the records, or do the operations
    #[arg(value_enum)]
    phase: Phase,
    /// Where the records go
    #[arg(value_enum)]
    binding: Binding,
    /// Property file, several in turn; `workloada` to `workloadf` need no file
    #[arg(short = 'P', value_name = "FILE")]
    files: Vec<String>,
    /// Property, over all files
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    properties: Vec<String>,
    /// Operations a second, of all threads together
    #[arg(long, value_name = "N")]
    target: Option<u64>,
    /// Status lines while it runs
    #[arg(short = 's')]
    status: bool,
    /// What status lines begin with
    #[arg(short = 'l', value_name = "LABEL")]
    label: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// insert `recordcount` records
    Load,
    /// do `operationcount` operations
    Run,
}

/// A store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Binding {
    /// RocksDB in the directory `rocksdb.dir`
    Rocksdb,
    /// nothing is stored: what the client itself costs
    Basic,
}

impl Generator for Ycsb {
    const NAME: &'static str = "ycsb";
    const ABOUT: &'static str = "Reads, writes and scans of records in RocksDB, workloads a to f";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        Ok(size::footprint(&self.settings(shared)?.0))
    }

    fn run(&self, shared: &Shared, talk: &dyn Reporter) -> Result<Finished, Failure> {
        let (settings, warnings) = self.settings(shared)?;
        warnings.iter().for_each(|warning| talk.say(warning));
        if settings.operations == 0 && settings.max_seconds == 0 {
            talk.say(
                "there is no operationcount and no maxexecutiontime: it runs until it is ended",
            );
        }
        let (outcome, backing) = execute(&settings, shared, talk)?;
        finish(&settings, &outcome, backing, talk)
    }
}

fn execute(
    settings: &Settings,
    shared: &Shared,
    talk: &dyn Reporter,
) -> Result<(Outcome, Backing), Failure> {
    let (seed, ready) = (shared.seed, || shared.ready());
    match &settings.target {
        Target::Basic => run::run(settings, seed, || Ok(Basic), ready, talk),
        Target::RocksDb(location) => {
            run::run(settings, seed, || RocksDb::open(location), ready, talk)
        }
    }
}

/// Output, files, and whether the result is worth anything.
fn finish(
    settings: &Settings,
    outcome: &Outcome,
    backing: Backing,
    talk: &dyn Reporter,
) -> Result<Finished, Failure> {
    let measuring = &settings.measuring;
    let mut text = outcome.status_lines.iter().map(|line| format!("{line}\n")).collect();
    place(
        output::raw(outcome, measuring, began_ms(outcome)),
        measuring.raw_file.as_deref(),
        &mut text,
    )?;
    place(output::exported(outcome, measuring), measuring.export_file.as_deref(), &mut text)?;
    if let Err(failure) = outcome.check() {
        // The lines are no result any more, but they say how far it came.
        text.lines().for_each(|line| talk.say(line));
        return Err(failure);
    }
    let missing = outcome.book.returned_at_all(store::Status::NotFound);
    if missing > 0 {
        talk.say(&format!(
            "warning: {missing} operations found no record\n  hint: load first, with the same \
             recordcount, insertorder and zeropadding"
        ));
    }
    let json = output::json(outcome, settings);
    Ok(Finished { report: Report { text, json }, backing })
}

/// Text goes into its file, or to stdout where there is none.
fn place(text: String, file: Option<&Path>, stdout: &mut String) -> Result<(), Failure> {
    match file {
        None => stdout.push_str(&text),
        Some(file) => std::fs::write(file, text).map_err(|error| Failure::Unable {
            what: format!("cannot write {}: {error}", file.display()),
            remedy: "name another `exportfile` or `measurement.raw.output_file`".to_owned(),
        })?,
    }
    Ok(())
}

/// When the run began, in milliseconds since 1970.
fn began_ms(outcome: &Outcome) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ago = assay_kernel::clock::monotonic_ns() - outcome.began;
    u64::try_from(now.as_millis()).unwrap_or(0).saturating_sub(ago / 1_000_000)
}

/// Whether the bytes of a property file say a run, or what is wrong with them.
pub fn check_properties(bytes: &[u8]) -> Result<(), Failure> {
    let mut properties = Properties::default();
    properties.load("properties", bytes)?;
    Settings::read(&properties, Phase::Run, Binding::Basic).map(|_| ())
}

#[cfg(test)]
mod tests;
