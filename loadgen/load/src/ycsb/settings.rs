//! Interprets the properties, with positions in errors: the client, the workload and the
//! measurements.

mod measuring;
mod workload;

pub(super) use measuring::{Exporter, Measuring};
pub(super) use workload::Workload;

use std::path::PathBuf;

use super::properties::Properties;
use super::rocksdb::Location;
use super::{Binding, Phase};
use crate::failure::Failure;

/// Where records are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Basic,
    RocksDb(Location),
}

/// A fully resolved run.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Insert records, or execute operations.
    pub(super) loading: bool,
    pub(super) target: Target,
    pub(super) threads: usize,
    /// Operations of all threads together; 0 for no limit.
    pub(super) operations: u64,
    /// Nanoseconds between two operations of a thread, if throttled.
    pub(super) tick: Option<u64>,
    /// Wait by spinning instead of sleeping.
    pub(super) spin: bool,
    /// Seconds; 0 for no limit.
    pub(super) max_seconds: u64,
    /// Seconds between two status lines, if enabled.
    pub(super) status: Option<u64>,
    pub(super) label: String,
    pub(super) workload: Workload,
    pub(super) measuring: Measuring,
}

impl Settings {
    pub(super) fn read(
        properties: &Properties,
        phase: Phase,
        binding: Binding,
    ) -> Result<Self, Failure> {
        class_of(properties)?;
        let loading = phase == Phase::Load;
        let threads = properties.positive("threadcount", 1)? as usize;
        let per_second = properties.number("target", 0u64)?;
        let workload = Workload::read(properties)?;
        let operations = if loading {
            properties.number("insertcount", properties.number("recordcount", 0)?)?
        } else {
            properties.number("operationcount", 0)?
        };
        let status = match properties.flag("status", false)? {
            true => Some(properties.positive("status.interval", 10)?),
            false => None,
        };
        Ok(Self {
            loading,
            target: target(properties, binding)?,
            // Never more threads than operations. The tick stays that of the requested number of
            // threads; YCSB does both.
            threads: match usize::try_from(operations) {
                Ok(operations) if operations > 0 => threads.min(operations),
                _ => threads,
            },
            operations,
            tick: (per_second > 0).then(|| tick(per_second, threads)),
            spin: properties.flag("spin.sleep", false)?,
            max_seconds: properties.number("maxexecutiontime", 0)?,
            status,
            label: properties.text("label", "").to_owned(),
            measuring: Measuring::read(properties)?,
            workload,
        })
    }
}

/// Nanoseconds between operations of a thread, by YCSB's arithmetic.
fn tick(per_second: u64, threads: usize) -> u64 {
    let per_millisecond = per_second as f64 / threads as f64 / 1000.0;
    (1e6 / per_millisecond) as u64
}

/// Only the core workload is built in, under its current name and the one before 0.15.
fn class_of(properties: &Properties) -> Result<(), Failure> {
    let class = properties.text("workload", "site.ycsb.workloads.CoreWorkload").trim();
    if ["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"]
        .contains(&class)
    {
        return Ok(());
    }
    Err(properties.refuse("workload", "only `site.ycsb.workloads.CoreWorkload` is built in"))
}

fn target(properties: &Properties, binding: Binding) -> Result<Target, Failure> {
    if binding == Binding::Basic {
        return Ok(Target::Basic);
    }
    let Some(directory) = properties.get("rocksdb.dir").filter(|path| !path.is_empty()) else {
        let remedy = "give the data directory: -p rocksdb.dir=DIR";
        return Err(properties.refuse("rocksdb.dir", remedy));
    };
    Ok(Target::RocksDb(Location {
        directory: PathBuf::from(directory),
        options_file: properties
            .get("rocksdb.optionsfile")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        library: properties.get("rocksdb.library").map(str::to_owned),
        table: properties.text("table", "usertable").to_owned(),
    }))
}

#[cfg(test)]
mod tests;
