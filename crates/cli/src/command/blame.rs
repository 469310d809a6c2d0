//! `assay blame`

mod prove;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use assay_blame::collect::{Blamed, BlamedCommand, CommandOptions, Proof, blame_all, proof_text};
use assay_blame::{Answer, DiskAnswer, MemoryAnswer, Verdict, disks_text, memory_text};
use assay_host::facts::Available;
use assay_run::blamed_command::blame_command;
use assay_run::exec::{Outcome, Setting};
use assay_run::limited_command::LimitedCommand;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Error as KernelError, signal};
use clap::Args;
use serde::Serialize;

use crate::countdown::Countdown;
use crate::observer::this_host;
use crate::output;
use crate::parsers::{duration_in, watching};
use crate::shared_arguments::{FormatArguments, TargetArguments};

/// Length of watching what does not end by itself.
const LENGTH: Duration = Duration::from_secs(10);

/// Arguments of `assay blame`.
#[derive(Debug, Args)]
#[command(after_help = "\
Whenever a thread could run and did not, its time is charged to what its CPU did then. Needs root, and a \
kernel (6.1) with eBPF. Only a command gets a group of its own, and only --prove changes others, for \
moments; both are in the ledger. Exit code 3: the sum misses the kernel's own counter by more than 1 %.")]
pub(crate) struct BlameArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// How long to watch
    ///
    /// By default 10s, or until the command ends; a command that is still running then is stopped.
    #[arg(long = "for", value_name = "DURATION", value_parser = watching)]
    length: Option<Duration>,
    /// Knob of the command's group, as cpu.max=max
    ///
    /// May be repeated.
    #[arg(short, long = "set", value_name = "KNOB=VALUE", conflicts_with = "target")]
    set: Vec<Setting>,
    #[command(flatten)]
    prove: prove::ProveArguments,
    /// Watch all groups, and show again and again whom they wait for
    #[arg(short, long, conflicts_with_all = ["target", "command", "set", "prove"])]
    watch: bool,
    /// Time between two looks
    #[arg(long, value_name = "DURATION", default_value = "10s", requires = "watch", value_parser = interval)]
    interval: Duration,
    /// Write metrics to FILE at each look, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE", requires = "watch")]
    textfile: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
    /// Command to run in a group of its own
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "target")]
    command: Vec<OsString>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_secs(1)..=Duration::from_secs(3600);
    duration_in(text, range, "expected 1 s to 1 h")
}

/// An answer with its proof.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disks: Option<&'a Available<Vec<DiskAnswer>>>,
    /// Other disks that were busy meanwhile.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    disks_not_followed: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a Available<MemoryAnswer>>,
}

/// Watches the target and shows where its waiting went.
pub(crate) fn run(arguments: &BlameArguments) -> Result<Code, Error> {
    if arguments.watch {
        let times = (arguments.interval, arguments.length);
        let textfile = arguments.textfile.as_deref();
        return watch::run(&this_host().root, times, textfile, arguments.format.is_json());
    }
    let Some(target) = arguments.target.target() else {
        if arguments.command.is_empty() {
            let hint =
                "give one of --group, --pid, --unit, --container, --pod, --watch, or -- COMMAND";
            return Err(Error::usage(format!("no target given\n  hint: {hint}")));
        }
        return run_command(arguments);
    };
    signal::note_interruptions();
    let length = arguments.length.unwrap_or(LENGTH);
    let code = match arguments.prove.options()? {
        None => {
            let countdown = Countdown::start(Some(length));
            let blamed = blame_all(&this_host().root, &target, length)?;
            drop(countdown);
            show_all(&blamed, arguments.format.is_json())?
        }
        Some(options) => {
            let proven = {
                let host = this_host();
                assay_blame::collect::prove(
                    (&host.root, &host.state_dir),
                    &target,
                    length,
                    &options,
                    &mut notify,
                )?
            };
            let code = show(&proven.answer, proven.proof.as_ref(), arguments.format.is_json())?;
            if proven.not_restored.is_empty() { code } else { name(&proven.not_restored) }
        }
    };
    Ok(match signal::interrupted_by() {
        Some(_) if code != Code::RestoreIncomplete => Code::Interrupted,
        _ => code,
    })
}

fn notify(text: &str) {
    output::message(&format!("assay: {text}"));
}

fn run_command(arguments: &BlameArguments) -> Result<Code, Error> {
    let command = LimitedCommand {
        command: arguments.command.clone(),
        settings: arguments.set.clone(),
        ..LimitedCommand::default()
    };
    let context = this_host();
    let request = command.request(&context, "blame");
    let prove = arguments.prove.options()?;
    let length = arguments.length.or(prove.is_some().then_some(LENGTH));
    let options = CommandOptions { length, prove };
    let watched = blame_command(&context, &request, &options, &mut notify)?;
    if options.prove.is_some() && watched.proof.is_none() {
        output::message("no proof: the command ended first; --for shortens the time before it");
    }
    conclude(&watched, arguments.format.is_json())
}

fn conclude(watched: &BlamedCommand<Outcome>, as_json: bool) -> Result<Code, Error> {
    let code = show(&watched.answer, watched.proof.as_ref(), as_json)?;
    if !watched.outcome.not_restored.is_empty() {
        return Ok(name(&watched.outcome.not_restored));
    }
    Ok(match watched.outcome.report.ended.exit_code() {
        0 => code,
        _ if watched.is_stopped => code,
        failed => {
            output::message(&format!("the command ended with exit code {failed}"));
            Code::Workload
        }
    })
}

/// Names what was not restored.
fn name(not_restored: &[KernelError]) -> Code {
    for error in not_restored {
        output::error(&format!("not restored: {error}"));
    }
    Code::RestoreIncomplete
}

fn show(answer: &Answer, proof: Option<&Proof>, as_json: bool) -> Result<Code, Error> {
    if as_json {
        output::json(&Document {
            answer,
            proof,
            disks: None,
            disks_not_followed: &[],
            memory: None,
        })?;
    } else {
        let proof = proof.map(proof_text).unwrap_or_default();
        output::data(&format!("{}{proof}", assay_blame::text(answer)));
    }
    Ok(code(answer))
}

/// The same with disks and memory; their own checks do not decide the exit code.
fn show_all(blamed: &Blamed, as_json: bool) -> Result<Code, Error> {
    let Blamed { answer, disks, not_followed, memory } = blamed;
    if as_json {
        let document = Document {
            answer,
            proof: None,
            disks: Some(disks),
            disks_not_followed: not_followed,
            memory: Some(memory),
        };
        output::json(&document)?;
    } else {
        let disks = disks_text(disks, not_followed);
        let memory = memory_text(memory);
        output::data(&format!("{}\n{disks}\n{memory}", assay_blame::text(answer)));
    }
    Ok(code(answer))
}

const fn code(answer: &Answer) -> Code {
    match answer.verdict {
        Verdict::Valid => Code::Kept,
        Verdict::Void => Code::Undecided,
    }
}
