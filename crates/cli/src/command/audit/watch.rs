//! `assay audit watch`: one line a change, as text or JSON.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use assay_audit::collect::{WatchOptions, WatchSummary, WatchedChange, Writer, watch_settings};
use assay_audit::{change, counts};
use assay_host::facts::Available;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use clap::Args;
use serde::Serialize;

use crate::destination::Destination;
use crate::exporting::write_error;
use crate::output;
use crate::parsers::{duration_in, watching};
use crate::shared_arguments::FormatArguments;

/// Arguments of a watch.
#[derive(Debug, Args)]
pub(super) struct WatchArguments {
    /// Watch the host whose root is mounted at DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// How long to watch [default: until Ctrl-C]
    #[arg(long = "for", value_name = "DURATION", value_parser = watching)]
    length: Option<Duration>,
    /// How often files are read again that the kernel reports no writes of
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Write metrics to FILE again and again, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

fn interval(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(3600);
    duration_in(text, SHORTEST..=LONGEST, "expected 0.1 s to 1 h")
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Change(&'a WatchedChange),
    Summary(&'a WatchSummary),
}

/// Watches, and shows each change when it happens.
pub(super) fn run(arguments: &WatchArguments) -> Result<Code, Error> {
    let (root, as_json) = (super::root_at(&arguments.root)?, arguments.format.is_json());
    signal::note_interruptions();
    let mut out = Destination::stdout().map_err(|cause| write_error(&cause))?;
    let mut put =
        |line: String| output::reached(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
    let mut tell = |change: &WatchedChange| put(shown(&Line::Change(change), as_json));
    let options = WatchOptions { every: arguments.interval, length: arguments.length };
    let summary = watch_settings(&root, options, arguments.textfile.as_deref(), &mut tell)?;
    put(shown(&Line::Summary(&summary), as_json));
    if !as_json {
        let unknown = summary.writers_unknown.iter();
        unknown
            .for_each(|why| output::message(&format!("which processes wrote is not known: {why}")));
        summary.left_out.iter().for_each(|what| output::message(&format!("not watched: {what}")));
    }
    Ok(Code::Kept)
}

/// A whole line. A name of a process may have line breaks, which are escaped.
fn shown(line: &Line, as_json: bool) -> String {
    let text = match (line, as_json) {
        (line, true) => serde_json::to_string(line).unwrap_or_default(),
        (Line::Change(change), false) => text(change),
        (Line::Summary(summary), false) => summary_text(summary),
    };
    assay_sys::escape::line(&text).into_owned() + "\n"
}

fn text(one: &WatchedChange) -> String {
    let writers = match &one.written_by {
        Available::Value(writers) => {
            let words: Vec<String> = writers.iter().map(writer).collect();
            format!("  by {}", words.join(" or "))
        }
        Available::NotAvailable(_) => "  by whom is not known".to_owned(),
    };
    format!("{}  {}{writers}", one.time, change(&one.change))
}

fn writer(one: &Writer) -> String {
    match (&one.name, one.process) {
        (Some(name), process) => format!("{name} (pid {process})"),
        (None, 0) => "a process of another PID namespace".to_owned(),
        (None, process) => format!("pid {process}, which has ended"),
    }
}

fn summary_text(summary: &WatchSummary) -> String {
    format!(
        "{} in {:.0} s; {} groups watched with {:.2} % of a CPU",
        counts(summary.changes, summary.came, summary.went),
        summary.seconds,
        summary.groups,
        summary.cpu * 100.0
    )
}
