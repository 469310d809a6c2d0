//! `assay exec`

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use assay_exec::{
    Failure, Leftover, Outcome, PlaceOption, Refused, Report, Request, Setting, WhoseFault,
};
use assay_host::{gather, state_dir};
use assay_kernel::Root;
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::exit::Code;
use crate::output;

/// What `assay exec` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
The command's exit code is passed on, 128+n for signal n, 127 when it is not found, 126 when it
cannot be executed. 2: a setting is wrong, 4: this host cannot do it, 6: the host could not be put
back; the command was not run, except with 6.")]
pub(crate) struct ExecArguments {
    /// Set a knob by its cgroup v2 name, as memory.max=64M; may be repeated
    #[arg(long = "set", value_name = "KNOB=VALUE")]
    set: Vec<Setting>,
    /// CPUs and memory, as cpus=0-3,mems=0 (by cpusets) or memory=interleave:0-1
    #[arg(long, value_name = "PLACE", value_parser = assay_exec::place)]
    place: Vec<PlaceOption>,
    /// The disk whose scheduler decides what io.weight becomes, as sda
    #[arg(long, value_name = "DISK")]
    disk: Option<String>,
    /// What happens to processes that outlive the command
    #[arg(long, value_name = "WHAT", default_value = "wait")]
    left: LeftArgument,
    /// Leave out what this host cannot set, and say so, instead of refusing
    #[arg(long)]
    keep_going: bool,
    /// Print the report as one line of JSON on stdout, after the command's own output
    #[arg(long)]
    json: bool,
    /// Write the report as JSON into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LeftArgument {
    /// Wait for them; the limits go on to hold
    Wait,
    /// Kill them
    Kill,
}

/// Runs the command and reports what it used and which of its limits bound.
pub(crate) fn run(arguments: &ExecArguments) -> ExitCode {
    let facts = match gather(&Root::real()) {
        Ok(facts) => facts,
        Err(error) => {
            output::error(&error);
            return Code::Host.into();
        }
    };
    let request = request(arguments);
    match assay_exec::exec(&request, &facts, &mut |text| output::say(&format!("assay: {text}"))) {
        Ok(outcome) => conclude(arguments, &outcome),
        Err(failure) => explain(&failure),
    }
}

fn request(arguments: &ExecArguments) -> Request {
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let placed = arguments.place.iter().flat_map(|place| &place.settings);
    Request {
        command: arguments.command.clone(),
        settings: arguments.set.iter().chain(placed).cloned().collect(),
        memory: arguments.place.iter().rev().find_map(|place| place.memory.clone()),
        disk: arguments.disk.clone(),
        leftover: match arguments.left {
            LeftArgument::Wait => Leftover::Wait,
            LeftArgument::Kill => Leftover::Kill,
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
        (Err(wrong), _) => output::error(wrong),
        (Ok(_), None) => {}
    }
    match json {
        Ok(json) if arguments.json => output::data(&json),
        _ => output::say_painted(|color| assay_exec::text(report, color)),
    }
}

fn explain(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Refused(refused) => return refuse(refused),
        Failure::NotRunnable(wrong) => {
            output::error(wrong);
            return ExitCode::from(wrong.exit_code);
        }
        Failure::Host(error) => output::error(error),
        Failure::Interrupted(signal) => {
            let number = signal.as_raw();
            output::say(&format!("assay: signal {number} came before the command was started"));
            return ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX));
        }
    }
    output::say("the command was not run");
    Code::Host.into()
}

fn refuse(refused: &[Refused]) -> ExitCode {
    for one in refused {
        output::error(one);
    }
    output::say("nothing was touched, and the command was not run");
    let usage = refused.iter().any(|one| one.fault == WhoseFault::Usage);
    if usage { Code::Usage.into() } else { Code::Host.into() }
}
