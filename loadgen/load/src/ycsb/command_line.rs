//! Collects the properties from the arguments in YCSB's order: files in order, then `-p`, then
//! options of their own.

use std::ffi::OsString;
use std::path::Path;

use super::properties::{Properties, unknown};
use super::settings::Settings;
use super::{Ycsb, shipped};
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::input;

impl Ycsb {
    /// The settings, and warnings about properties that are probably misspelled.
    pub(super) fn settings(&self, shared: &Shared) -> Result<(Settings, Vec<String>), Failure> {
        let properties = self.all_properties(shared)?;
        let settings = Settings::read(&properties, self.phase, self.binding)?;
        Ok((settings, unknown(&properties)))
    }

    fn all_properties(&self, shared: &Shared) -> Result<Properties, Failure> {
        let mut all = Properties::default();
        for path in &self.files {
            all.load(path, &contents(path)?)?;
        }
        for pair in &self.properties {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Failure::usage(format!(
                    "`-p {pair}` has no value\n  hint: write -p NAME=VALUE, as in -p \
                     operationcount=99999"
                )));
            };
            all.set(name, value);
        }
        if let Some(threads) = shared.threads {
            all.set("threadcount", threads.to_string());
        }
        if let Some(target) = self.target {
            all.set("target", target.to_string());
        }
        if self.status {
            all.set("status", "true");
        }
        if let Some(label) = &self.label {
            all.set("label", label.clone());
        }
        Ok(all)
    }
}

/// A property file from the disk, or a shipped workload.
fn contents(path: &str) -> Result<Vec<u8>, Failure> {
    match (input::read(Path::new(path), input::MAX_BYTES), shipped::workload(path)) {
        (Ok(bytes), _) => Ok(bytes),
        (Err(_), Some(text)) => Ok(text.into_bytes()),
        (Err(error), None) => Err(Failure::usage(format!(
            "cannot read the property file {path}: {error}\n  hint: check the path; `workloada` to \
             `workloadf` need no file"
        ))),
    }
}

/// Translates `-threads` and `-target` of `assay-load ycsb` to the two dashes that clap expects.
pub(crate) fn normalize_arguments(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|name| name == "ycsb") {
        for argument in &mut arguments {
            if argument == "-threads" || argument == "-target" {
                *argument = format!("-{}", argument.to_string_lossy()).into();
            }
        }
    }
    arguments
}
