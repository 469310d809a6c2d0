//! `assay blame`

use std::ffi::OsString;
use std::time::Duration;

use assay_blame::{Answer, Verdict};
use assay_exec::Setting;
use assay_kernel::signal;
use assay_session::{
    BlameTarget, BlamedCommand, Code, Error, LimitedCommand, blame, blame_command,
};
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::parsers::duration_in;

/// Length of watching what does not end by itself.
const LENGTH: Duration = Duration::from_secs(10);

/// Arguments of `assay blame`.
#[derive(Debug, Args)]
#[command(after_help = "\
Whenever a thread could run and did not, its time is charged to what its CPU did then. Needs root, and a
kernel (6.1) with eBPF. Only a command gets a group of its own; nothing else of the host is changed.
Exit code 3: the sum misses the kernel's own counter by more than 1 %.")]
pub(crate) struct BlameArguments {
    /// Group to watch with all groups below it; a path below the mount of the controller `cpu`
    #[arg(value_name = "GROUP", conflicts_with_all = ["pid", "command"])]
    group: Option<String>,
    /// Watch all threads of this process
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// How long to watch a group or process, e.g. `30s` [default: 10s]
    #[arg(long = "for", value_name = "DURATION", value_parser = length, conflicts_with = "command")]
    length: Option<Duration>,
    /// Set a knob of the command's group, e.g. cpu.max='50000 100000'; may be repeated
    #[arg(long = "set", value_name = "KNOB=VALUE", conflicts_with_all = ["group", "pid"])]
    set: Vec<Setting>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    /// Command to run in a group of its own and watch, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn length(text: &str) -> Result<Duration, String> {
    duration_in(text, Duration::from_secs(1).., "watching needs at least 1 s")
}

/// Watches the target and shows where its waiting went.
pub(crate) fn run(arguments: &BlameArguments) -> Result<Code, Error> {
    let target = match (&arguments.group, arguments.pid) {
        (Some(path), _) => BlameTarget::Group(path.clone()),
        (None, Some(id)) => BlameTarget::Process(id),
        (None, None) if arguments.command.is_empty() => {
            let hint = "give one of GROUP, --pid PID, -- COMMAND";
            return Err(Error::usage(format!("no target given\n  hint: {hint}")));
        }
        (None, None) => return run_command(arguments),
    };
    signal::note_interruptions();
    let answer = blame(&this_host(), &target, arguments.length.unwrap_or(LENGTH))?;
    let code = show(&answer, arguments.json)?;
    Ok(if signal::interrupted_by().is_some() { Code::Interrupted } else { code })
}

fn run_command(arguments: &BlameArguments) -> Result<Code, Error> {
    let command = LimitedCommand {
        command: arguments.command.clone(),
        settings: arguments.set.clone(),
        ..LimitedCommand::default()
    };
    let context = this_host();
    let request = command.request(&context, "blame");
    let mut notify = |text: &str| output::message(&format!("assay: {text}"));
    let watched = blame_command(&context, &request, &mut notify)?;
    conclude(&watched, arguments.json)
}

fn conclude(watched: &BlamedCommand, as_json: bool) -> Result<Code, Error> {
    let code = show(&watched.answer, as_json)?;
    for error in &watched.outcome.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    Ok(match watched.outcome.report.ended.exit_code() {
        _ if !watched.outcome.not_restored.is_empty() => Code::RestoreIncomplete,
        0 => code,
        failed => {
            output::message(&format!("the command ended with exit code {failed}"));
            Code::Workload
        }
    })
}

fn show(answer: &Answer, as_json: bool) -> Result<Code, Error> {
    if as_json {
        output::json(answer)?;
    } else {
        output::data(&assay_blame::text(answer));
    }
    Ok(match answer.verdict {
        Verdict::Valid => Code::Kept,
        Verdict::Void => Code::Undecided,
    })
}
