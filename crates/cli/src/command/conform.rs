//! `assay conform`

use std::path::{Path, PathBuf};

use assay_conformance::{Case, CaseRecord, Document, Finished, Request, Verdict};
use assay_facts::HostFacts;
use assay_files::input_text;
use assay_host::{gather, state_dir};
use assay_kernel::{Root, signal};
use clap::Args;
use jiff::Timestamp;

use crate::exit::Code;
use crate::output;
use assay_session::MOST_TEXT;

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
    let prepared = request(arguments, cases);
    let finished = prepared.and_then(|request| {
        signal::note_interruptions();
        assay_conformance::run(&request, &mut print_case).map_err(|error| error.to_string())
    });
    match finished {
        Ok(finished) => conclude(&finished, arguments.json),
        Err(message) => {
            output::error(&message);
            Code::Host
        }
    }
}

/// The default patience: QEMU without KVM runs a guest some ten times slower than its host, and
/// irregularly.
fn default_patience(facts: &HostFacts) -> f64 {
    if facts.virtual_machine.as_deref() == Some("QEMU") { 3.0 } else { 1.0 }
}

fn merge(paths: &[PathBuf]) -> Code {
    let documents: Result<Vec<Document>, String> = paths.iter().map(|path| open(path)).collect();
    match documents {
        Ok(documents) => {
            output::data(&assay_conformance::merge(&documents));
            Code::Kept
        }
        Err(message) => {
            output::error(&message);
            Code::Usage
        }
    }
}

fn open(path: &Path) -> Result<Document, String> {
    let text = input_text(path, MOST_TEXT).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|cause| {
        let hint = "expected the output of `assay conform --json`";
        format!("cannot understand {}: {cause}\n  hint: {hint}", path.display())
    })
}

fn request<'c>(arguments: &ConformArguments, cases: Vec<&'c Case>) -> Result<Request<'c>, String> {
    let facts = gather(&Root::real()).map_err(|error| error.to_string())?;
    let patience = arguments.patience.unwrap_or_else(|| default_patience(&facts));
    let program: PathBuf = std::env::current_exe()
        .map_err(|cause| format!("cannot find this program's file: {cause}"))?;
    let now = Timestamp::now();
    Ok(Request {
        cases,
        facts,
        state_dir: state_dir(),
        id: format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), std::process::id()),
        program,
        patience,
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        command: command_line(),
    })
}

/// The command line with only the name of the program: its folder means nothing on other hosts.
fn command_line() -> String {
    let mut words = vec!["assay".to_owned()];
    words.extend(std::env::args().skip(1));
    words.join(" ")
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
    code(&finished.document)
}

/// The exit code; unavailable cases do not count.
fn code(document: &Document) -> Code {
    match document.verdict() {
        Verdict::Kept | Verdict::NotAvailable => Code::Kept,
        Verdict::Broken => Code::Broken,
        Verdict::Undecided | Verdict::Void => Code::Undecided,
    }
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
