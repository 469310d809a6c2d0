//! `assay conform`

use std::path::PathBuf;

use assay_conform::request::{conform_code, prepare_conform, read_conform};
use assay_conform::{Case, CaseRecord, Finished};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::parsers::patience;

/// Arguments of `assay conform`.
#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// Controllers (`cpu`, `core`) or cases [default: all]
    #[arg(value_name = "CONTROLLER")]
    cases: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print the results as KTAP, the kernel's test format, instead of a table
    #[arg(long, conflicts_with_all = ["json", "list"])]
    ktap: bool,
    /// List the cases and what each promises; changes nothing
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Merge JSON documents of several hosts into one Markdown table; changes nothing
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["json", "ktap", "list", "cases"])]
    merge: Vec<PathBuf>,
    /// Factor for windows and time limits [default: 1, or 3 in an emulated machine]
    #[arg(long, value_name = "FACTOR", value_parser = patience)]
    patience: Option<f64>,
}

/// Runs cases and shows their results.
pub(crate) fn run(arguments: &ConformArguments) -> Result<Code, Error> {
    if !arguments.merge.is_empty() {
        let documents = arguments.merge.iter().map(|path| read_conform(path));
        output::data(&assay_conform::merge(&documents.collect::<Result<Vec<_>, _>>()?));
        return Ok(Code::Kept);
    }
    let cases = assay_conform::select(&arguments.cases).map_err(Error::usage)?;
    if arguments.list {
        output::data(&assay_conform::list(&cases, output::width()));
        return Ok(Code::Kept);
    }
    let request = prepare_conform(&this_host(), cases, arguments.patience)?;
    signal::note_interruptions();
    let finished = assay_conform::run(&request, &mut print_case).map_err(Error::host)?;
    show(arguments, &finished)?;
    conclude(&finished)
}

fn show(arguments: &ConformArguments, finished: &Finished) -> Result<(), Error> {
    if arguments.json {
        return output::json(&finished.document);
    }
    if arguments.ktap {
        output::data(&assay_conform::ktap(&finished.document));
    } else {
        output::data(&assay_conform::table(&finished.document, output::width()));
    }
    Ok(())
}

fn print_case(case: &Case, record: Option<&CaseRecord>) {
    if let Some(said) = assay_conform::progress(case, record) {
        output::message(&said);
    }
}

fn conclude(finished: &Finished) -> Result<Code, Error> {
    for error in &finished.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if !finished.document.restored {
        return Ok(Code::RestoreIncomplete);
    }
    if let Some(name) = finished.interrupted {
        output::message(&format!("interrupted by {name}, and restored"));
        return Ok(Code::Interrupted);
    }
    Ok(conform_code(&finished.document))
}

/// The arguments of the internal command `assay probe`, if it is called. Only cases use it. It bypasses
/// clap, because all work before a probe is ready counts in the group whose use is judged.
pub(crate) fn probe_words() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    (words.next()? == "probe").then(|| words.collect())
}

/// Runs as a probe. Its parent is a case, which reads its output.
pub(crate) fn probe(words: &[String]) -> Result<Code, Error> {
    let ran = assay_conform::probe::run(words, &mut std::io::stdout());
    ran.map(|()| Code::Kept).map_err(Error::usage)
}
