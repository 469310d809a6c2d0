//! `assay conform`

mod kernels;

use assay_conform::request::{conform_code, prepare_conform};
use assay_conform::{Case, CaseRecord, Finished};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::parsers::{one_of, patience};
use crate::shared_arguments::YesArguments;

/// Arguments of `assay conform`.
#[derive(Debug, Args)]
#[command(after_help = "\
Not for production hosts: on some kernels two cases leave all other work on two CPUs without CPU time for a second, \
and on Linux 7.3 two change for some seconds how the whole machine divides CPU time. Before these it asks on a \
terminal, and needs --yes elsewhere.")]
pub(crate) struct ConformArguments {
    /// Controllers or cases; all by default
    #[arg(value_name = "CONTROLLER")]
    cases: Vec<String>,
    /// Format: text, json or ktap
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "text", hide_default_value = true, hide_possible_values = true, value_parser = one_of(&FORMATS))]
    format: ConformFormat,
    /// List the cases and what each promises
    #[arg(long, conflicts_with = "format")]
    list: bool,
    /// Factor for windows and time limits
    ///
    /// By default 1, or 3 in an emulated machine.
    #[arg(long, value_name = "FACTOR", value_parser = patience)]
    patience: Option<f64>,
    #[command(flatten)]
    yes: YesArguments,
    #[command(flatten)]
    kernels: kernels::KernelArguments,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConformFormat {
    Text,
    Json,
    Ktap,
}

const FORMATS: [(&str, ConformFormat, &str); 3] = [
    ("text", ConformFormat::Text, "A table"),
    ("json", ConformFormat::Json, "The document"),
    ("ktap", ConformFormat::Ktap, "The kernel's test format"),
];

/// Runs cases and shows their results.
pub(crate) fn run(arguments: &ConformArguments) -> Result<Code, Error> {
    let cases = assay_conform::select(&arguments.cases).map_err(Error::usage)?;
    if arguments.list {
        output::data(&assay_conform::list(&cases, output::width()));
        return Ok(Code::Kept);
    }
    let warnings = cases.iter().any(|case| case.warning.is_some());
    if warnings && arguments.kernels.on_this_host() {
        arguments.yes.confirm(
            "Some of these cases may leave everything else on two CPUs without CPU time for a second, or \
             change for seconds how the whole machine divides it.",
        )?;
    }
    if arguments.kernels.is_asked() {
        let as_json = arguments.format == ConformFormat::Json;
        return kernels::run(&arguments.kernels, cases, arguments.patience, as_json);
    }
    let request = prepare_conform(&this_host(), cases, arguments.patience)?;
    signal::note_interruptions();
    let finished = assay_conform::run(&request, &mut print_case).map_err(Error::host)?;
    show(arguments, &finished)?;
    conclude(&finished)
}

fn show(arguments: &ConformArguments, finished: &Finished) -> Result<(), Error> {
    let document = &finished.document;
    match arguments.format {
        ConformFormat::Text => output::data(&assay_conform::table(document, output::width())),
        ConformFormat::Json => output::json(document)?,
        ConformFormat::Ktap => output::data(&assay_conform::ktap(document)),
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

/// The arguments of the internal command `assay probe-process`, if it is called. Only cases and proofs use it. It bypasses
/// clap, because all work before a probe is ready counts in the group whose use is judged.
pub(crate) fn probe_words() -> Option<Vec<String>> {
    let mut words = std::env::args().skip(1);
    (words.next()? == assay_conform::probe::COMMAND).then(|| words.collect())
}

/// Runs as a probe. Its parent is a case or a proof, which reads its output.
pub(crate) fn probe(words: &[String]) -> Result<Code, Error> {
    let ran = assay_conform::probe::run(words, &mut std::io::stdout());
    ran.map(|()| Code::Kept).map_err(Error::usage)
}
