//! `filebench`: an interpreter of filebench's workload language, which runs the original's scripts
//! unchanged. docs/load/storage.md lists what is the same and what differs. A run: the text becomes
//! a script (`language`), the script a workload (`resolve`, `workload`), the workload's file sets
//! are created on disk (`files`), and its threads execute its operations (`flow`) under `control`.

mod classic;
mod control;
mod distribution;
mod files;
mod flow;
mod io_error;
mod language;
mod log;
mod output;
mod resolve;
mod size;
mod source;
mod uniform;
mod workload;

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::Footprint;
use crate::generator::{Finished, Generator};
use crate::output::Reporter;
use resolve::Overrides;
use workload::Workload;

/// The version of filebench whose language and output are implemented.
const VERSION: &str = "1.5-alpha3";

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Filebench {
    /// A script in the workload language, or fileserver, varmail, webserver, webproxy
    #[arg(value_name = "SCRIPT", required_unless_present = "file")]
    script: Option<PathBuf>,
    /// The same, as an option like filebench's
    #[arg(short, value_name = "SCRIPT", conflicts_with = "script")]
    file: Option<PathBuf>,
    /// Set a variable, overriding the script: dir=/mnt, nfiles=1000
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    variables: Vec<(String, String)>,
    /// Run for this many seconds, overriding the script; also if it has no run command
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    run: Option<u64>,
    /// Correct the known mistakes of the original; the output then says so
    #[arg(long)]
    corrected: bool,
}

/// Parses `name=value`, with or without the dollar sign.
fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in dir=/mnt")?;
    let name = name.trim_start_matches('$');
    if name.is_empty() {
        return Err("write NAME=VALUE, as in dir=/mnt".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Checks a script; returns all its mistakes.
pub fn check_script(text: &str) -> Result<(), String> {
    let to_text = |mistakes: Vec<language::Mistake>| language::format_mistakes("script", &mistakes);
    let script = language::parse(text).map_err(to_text)?;
    let overrides = Overrides { variables: Vec::new(), run: None, seed: Some(1) };
    resolve::resolve(&script, &overrides).map(|_| ()).map_err(to_text)
}

impl Filebench {
    fn path(&self) -> PathBuf {
        self.script.clone().or_else(|| self.file.clone()).unwrap_or_default()
    }

    fn overrides(&self, shared: &Shared) -> Overrides {
        let mut variables = self.variables.clone();
        if let Some(threads) = shared.threads {
            variables.push(("nthreads".to_owned(), threads.to_string()));
        }
        Overrides { variables, run: self.run, seed: shared.seed }
    }

    /// The workload, or all mistakes of its script.
    fn workload(&self, shared: &Shared) -> Result<Workload, Failure> {
        source::workload(&self.path(), &self.overrides(shared))
    }
}

impl Generator for Filebench {
    const NAME: &'static str = "filebench";
    const ABOUT: &'static str =
        "File server, mail and web loads, or any script in filebench's workload language";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        Ok(size::footprint(&self.workload(shared)?))
    }

    fn storage(&self, shared: &Shared) -> Result<Option<Value>, Failure> {
        Ok(Some(size::storage_json(&self.workload(shared)?)))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        let workload = self.workload(shared)?;
        let options = control::Options {
            corrected: self.corrected,
            anyway: shared.anyway,
            huge: shared.huge_pages.into(),
            seed: shared.seed,
            script: self.path().display().to_string(),
        };
        control::run(&workload, &options, &|| shared.ready(), reporter)
    }
}

#[cfg(test)]
mod tests;
