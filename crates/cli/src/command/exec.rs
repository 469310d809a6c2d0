//! `assay exec`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use assay_judge::verdict::Validity;
use assay_run::exec::{Leftover, PlacementOption, Report, Setting};
use assay_run::judged_command::{run_judged, validity_text};
use assay_run::limited_command::{LimitedCommand, run_limited};
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::observer::{Terminal, this_host};
use crate::output;
use crate::parsers::{margin, one_of};
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay exec`.
#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is that of the command: 128+n for signal n, 127 if it was not found, 126 if it cannot \
be executed. 2: wrong setting, 4: this host cannot do it, 6: the host could not be restored; the \
command was not run, except with 6. With --quiet-check, 3 instead of 0 if the command's numbers are void.")]
pub(crate) struct ExecArguments {
    /// Set a knob, e.g. memory.max=64M
    ///
    /// By its cgroup v2 name; may be repeated.
    #[arg(short, long = "set", value_name = "KNOB=VALUE")]
    set: Vec<Setting>,
    /// Place CPUs and memory: cpus=0-3,mems=0
    ///
    /// Of cpuset; or memory=interleave:0-1.
    #[arg(long, value_name = "PLACE", value_parser = assay_run::exec::parse_placement)]
    place: Vec<PlacementOption>,
    /// Disk for which io.weight is translated
    ///
    /// Whose scheduler decides how, e.g. sda.
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// Processes left over: wait or kill
    ///
    /// `wait`: wait for them, and the limits stay in force.
    #[arg(long, value_name = "WHAT", default_value = "wait", hide_possible_values = true, value_parser = one_of(&LEFTOVERS))]
    on_exit: Leftover,
    /// Skip settings that this host cannot make
    #[arg(long)]
    keep_going: bool,
    /// Check that the machine was quiet
    ///
    /// No steal, no swapping, a steady clock, and its CPUs left to the command. Exit code 3 if it was not.
    #[arg(long)]
    quiet_check: bool,
    /// Part of its CPUs that others may take
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = margin, requires = "quiet_check")]
    within: f64,
    #[command(flatten)]
    format: FormatArguments,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Command with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const LEFTOVERS: [(&str, Leftover, &str); 2] = [
    ("wait", Leftover::Wait, "Wait for them; the limits stay in force"),
    ("kill", Leftover::Kill, "Kill them"),
];

/// Runs the command and reports its usage and which of its limits were reached.
pub(crate) fn run(arguments: &ExecArguments) -> Result<ExitCode, Error> {
    let command = LimitedCommand {
        command: arguments.command.clone(),
        settings: arguments.set.clone(),
        place: arguments.place.clone(),
        disk: arguments.disk.clone(),
        leftover: arguments.on_exit,
        keep_going: arguments.keep_going,
    };
    let ended = match arguments.quiet_check {
        true => run_judged(&this_host(), &command, arguments.within, &mut Terminal)?
            .map(|judged| (judged.outcome, Some(judged.validity))),
        false => run_limited(&this_host(), &command, &mut Terminal)?.map(|outcome| (outcome, None)),
    };
    let (outcome, validity) = match ended {
        Ok(ended) => ended,
        Err(code) => return Ok(ExitCode::from(code)),
    };
    let report = JudgedReport { report: &outcome.report, validity: validity.as_ref() };
    show(arguments, &report)?;
    for error in &outcome.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if !outcome.not_restored.is_empty() {
        return Ok(Code::RestoreIncomplete.into());
    }
    match outcome.report.ended.exit_code() {
        0 if validity.is_some_and(|validity| !validity.is_valid()) => Ok(Code::Undecided.into()),
        code => Ok(ExitCode::from(code)),
    }
}

/// The document: the report, with the answer of `--quiet-check`.
#[derive(Debug, Serialize)]
struct JudgedReport<'r> {
    #[serde(flatten)]
    report: &'r Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    validity: Option<&'r Validity>,
}

fn show(arguments: &ExecArguments, report: &JudgedReport<'_>) -> Result<(), Error> {
    let json = serde_json::to_string(report).map_err(Error::host)?;
    if let Some(path) = &arguments.out {
        let written = assay_sys::files::replace(path, format!("{json}\n").as_bytes());
        written.unwrap_or_else(|error| output::error(&error));
    }
    if arguments.format.is_json() {
        output::data(&json);
        return Ok(());
    }
    output::message_painted(|color| {
        let judged = report.validity.map(|validity| validity_text(validity, color));
        [Some(assay_run::exec::text(report.report, color)), judged]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    });
    Ok(())
}
