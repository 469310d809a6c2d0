//! `assay exec`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use assay_exec::{
    Failure, Fault, Leftover, Outcome, PlacementOption, Refused, Report, Request, Setting,
};
use assay_host::{gather, state_dir};
use assay_kernel::Root;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::exit::Code;
use crate::output;

/// Arguments of `assay exec`.
#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is that of the command: 128+n for signal n, 127 if it was not found, 126 if it cannot
be executed. 2: wrong setting, 4: this host cannot do it, 6: the host could not be restored; the
command was not run, except with 6.")]
pub(crate) struct ExecArguments {
    /// Set a knob by its cgroup v2 name, e.g. memory.max=64M; may be repeated
    #[arg(long = "set", value_name = "KNOB=VALUE")]
    set: Vec<Setting>,
    /// Place CPUs and memory, e.g. cpus=0-3,mems=0 (cpuset) or memory=interleave:0-1
    #[arg(long, value_name = "PLACE", value_parser = assay_exec::parse_placement)]
    place: Vec<PlacementOption>,
    /// Disk whose scheduler decides how io.weight is translated, e.g. sda
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// What to do with processes that outlive the command
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    left: LeftoverArgument,
    /// Skip settings that this host cannot make, with a warning, instead of failing
    #[arg(long)]
    keep_going: bool,
    /// Print the report as one line of JSON on stdout, after the command's own output
    #[arg(long)]
    json: bool,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Command with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LeftoverArgument {
    /// Wait for them; the limits stay in force
    Wait,
    /// Kill them
    Kill,
}

/// Runs the command and reports its usage and which of its limits were reached.
pub(crate) fn run(arguments: &ExecArguments) -> ExitCode {
    let facts = match gather(&Root::real()) {
        Ok(facts) => facts,
        Err(error) => {
            output::error(&error);
            return Code::Host.into();
        }
    };
    let request = request(arguments);
    match assay_exec::exec(&request, &facts, &mut |text| output::message(&format!("assay: {text}")))
    {
        Ok(outcome) => conclude(arguments, &outcome),
        Err(failure) => explain(&failure),
    }
}

fn request(arguments: &ExecArguments) -> Request {
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let placement = arguments.place.iter().flat_map(|place| &place.settings);
    Request {
        command: arguments.command.clone(),
        settings: arguments.set.iter().chain(placement).cloned().collect(),
        memory: arguments.place.iter().rev().find_map(|place| place.memory.clone()),
        disk: arguments.disk.clone(),
        leftover: match arguments.left {
            LeftoverArgument::Wait => Leftover::Wait,
            LeftoverArgument::Kill => Leftover::Kill,
        },
        keep_going: arguments.keep_going,
        state_dir: state_dir(),
        run_id: format!("exec-{stamp}-{}", std::process::id()),
    }
}

fn conclude(arguments: &ExecArguments, outcome: &Outcome) -> ExitCode {
    show(arguments, &outcome.report);
    for error in &outcome.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if !outcome.not_restored.is_empty() {
        return Code::RestoreIncomplete.into();
    }
    ExitCode::from(outcome.report.ended.exit_code())
}

fn show(arguments: &ExecArguments, report: &Report) {
    let json = serde_json::to_string(report);
    match (&json, &arguments.out) {
        (Ok(json), Some(path)) => {
            if let Err(error) = assay_files::replace(path, format!("{json}\n").as_bytes()) {
                output::error(&error);
            }
        }
        (Err(error), _) => output::error(error),
        (Ok(_), None) => {}
    }
    match json {
        Ok(json) if arguments.json => output::data(&json),
        _ => output::message_painted(|color| assay_exec::text(report, color)),
    }
}

fn explain(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Refused(refused) => return refuse(refused),
        Failure::NotRunnable(error) => {
            output::error(error);
            return ExitCode::from(error.exit_code);
        }
        Failure::Host(error) => output::error(error),
        Failure::Interrupted(signal) => {
            let number = signal.as_raw();
            output::message(&format!(
                "assay: signal {number} arrived before the command was started"
            ));
            return ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX));
        }
    }
    output::message("the command was not run");
    Code::Host.into()
}

fn refuse(refused: &[Refused]) -> ExitCode {
    for one in refused {
        output::error(one);
    }
    output::message("nothing was touched, and the command was not run");
    let usage = refused.iter().any(|one| one.fault == Fault::Usage);
    if usage { Code::Usage.into() } else { Code::Host.into() }
}
