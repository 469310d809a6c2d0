//! `assay conform`

use std::path::PathBuf;

use assay_conformance::{Case, CaseRecord, Finished};
use assay_kernel::signal;
use assay_session::{conform_code, prepare_conform, read_conform};
use clap::Args;

use crate::exit::Code;
use crate::observer::{refuse, this_host};
use crate::output;

/// Arguments of `assay conform`.
#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// Controllers (`cpu`, `core`) or cases [default: all]
    #[arg(value_name = "CONTROLLER")]
    cases: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// List the cases and what each promises; changes nothing
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Merge JSON documents of several hosts into one Markdown table; changes nothing
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["json", "list", "cases"])]
    merge: Vec<PathBuf>,
    /// Factor for windows and time limits [default: 1, or 3 in an emulated machine]
    #[arg(long, value_name = "FACTOR", value_parser = patience)]
    patience: Option<f64>,
}

fn patience(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (0.1..=100.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number from 0.1 to 100".to_owned()),
    }
}

/// Runs cases and shows their results.
pub(crate) fn run(arguments: &ConformArguments) -> Code {
    if !arguments.merge.is_empty() {
        return merge(&arguments.merge);
    }
    let cases = match assay_conformance::select(&arguments.cases) {
        Ok(cases) => cases,
        Err(message) => {
            output::error(&message);
            return Code::Usage;
        }
    };
    if arguments.list {
        output::data(&assay_conformance::list(&cases, output::width()));
        return Code::Kept;
    }
    let request = match prepare_conform(&this_host(), cases, arguments.patience) {
        Ok(request) => request,
        Err(error) => return refuse(&error),
    };
    signal::note_interruptions();
    match assay_conformance::run(&request, &mut print_case) {
        Ok(finished) => conclude(&finished, arguments.json),
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

fn merge(paths: &[PathBuf]) -> Code {
    let documents: Result<Vec<_>, _> = paths.iter().map(|path| read_conform(path)).collect();
    match documents {
        Ok(documents) => {
            output::data(&assay_conformance::merge(&documents));
            Code::Kept
        }
        Err(error) => refuse(&error),
    }
}

fn print_case(case: &Case, record: Option<&CaseRecord>) {
    if let Some(record) = record {
        output::message(&format!(
            "{:<13} {}/{} ({:.1} s)",
            record.verdict.to_string(),
            case.controller,
            case.behaviour,
            record.seconds
        ));
    }
}

fn conclude(finished: &Finished, json: bool) -> Code {
    for error in &finished.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if json {
        match serde_json::to_string_pretty(&finished.document) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
    } else {
        output::data(&assay_conformance::table(&finished.document, output::width()));
    }
    if !finished.document.restored {
        return Code::RestoreIncomplete;
    }
    if let Some(name) = finished.interrupted {
        output::message(&format!("interrupted by {name}, and restored"));
        return Code::Interrupted;
    }
    conform_code(&finished.document)
}

/// The arguments of the internal command `assay probe`, if it is called. Only cases use it. It bypasses
/// clap, because all work before a probe is ready counts in the group whose use is judged.
pub(crate) fn probe_words() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    (words.next()? == "probe").then(|| words.collect())
}

/// Runs as a probe. Its parent is a case, which reads its output.
pub(crate) fn probe(words: &[String]) -> Code {
    match assay_conformance::probe::run(words, &mut std::io::stdout()) {
        Ok(()) => Code::Kept,
        Err(message) => {
            output::error(&message);
            Code::Usage
        }
    }
}
