//! `assay fleet`

mod show;
mod submit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use assay_files::Trust;
use assay_fleet::{
    Fleet, FleetFolder, Limit, Slurm, TaskState, cancel, carry_out, collect, states, wait, write,
};
use assay_kernel::signal;
use assay_session::MOST_TEXT;
use assay_verdict::{FleetJudgement, HostState, Verdict};
use clap::{Args, Subcommand};

use crate::args::{StudyArguments, TrustArguments};
use crate::exit::Code;
use crate::output;
use show::Lines;

/// Subcommands of `assay fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Submit a study to Slurm, one run per host; wait, collect, report
    Run(Box<FleetRunArguments>),
    /// Resubmit failed and lost tasks of a fleet; wait, collect, report
    Resume(FleetResumeArguments),
    /// Show the state of a fleet's tasks
    Status(FleetArguments),
    /// Merge the runs finished so far into one report
    Collect(FleetArguments),
    /// Cancel a fleet; every host is restored first
    Cancel(FleetCancelArguments),
    /// Run one task on this host; called by the job script
    Task(FleetTaskArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FleetRunArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Nodes, as a Slurm node list, e.g. `node1,node[3-5]`
    #[arg(long, value_name = "LIST", conflicts_with = "nodes", help_heading = "Fleet")]
    hosts: Option<String>,
    /// Number of nodes, idle ones first [default: all]
    #[arg(long, value_name = "N", help_heading = "Fleet",
          value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Partition whose nodes to use [default: Slurm's default partition]
    #[arg(long, value_name = "NAME", help_heading = "Fleet")]
    partition: Option<String>,
    /// Divide the trials into this many parts, and the hosts among the parts, instead of running all
    /// trials on every host; without N as many parts as hosts
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "0",
          help_heading = "Fleet")]
    slices: Option<usize>,
    /// Folder that all hosts share under the same path; fleets are created in it
    #[arg(long, value_name = "DIR", default_value = "runs", help_heading = "Fleet")]
    shared: PathBuf,
    /// Folder of this fleet [default: `SHARED/<time>-<study>-fleet`]
    #[arg(long, value_name = "DIR", help_heading = "Fleet")]
    out: Option<PathBuf>,
    /// Time limit for the run of a host, if the plan cannot tell (a long preparation)
    #[arg(long, value_name = "DURATION", value_parser = crate::args::duration,
          help_heading = "Fleet")]
    time_limit: Option<Duration>,
    /// Path of the program on the hosts [default: path of this program]
    #[arg(long, value_name = "PATH", help_heading = "Fleet")]
    program: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Submit and exit; follow with `assay fleet status` and `collect`
    #[arg(long, help_heading = "Fleet")]
    detach: bool,
    /// Print fleet-verdict.json instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetResumeArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    /// Submit and exit
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    trust: TrustArguments,
    /// Print fleet-verdict.json instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCancelArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetTaskArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    /// Number of the task, $SLURM_ARRAY_TASK_ID
    task: usize,
    /// Number of its job, $SLURM_ARRAY_JOB_ID
    #[arg(long, value_name = "N")]
    job: u64,
    /// SHA-256 of the submission; a folder with other contents is refused
    #[arg(long, value_name = "HEX")]
    digest: String,
    #[command(flatten)]
    trust: TrustArguments,
}

/// Runs a subcommand.
pub(crate) fn run(command: &FleetCommand) -> ExitCode {
    let result = match command {
        FleetCommand::Run(arguments) => submit::run(arguments),
        FleetCommand::Resume(arguments) => submit::resume(arguments),
        FleetCommand::Status(arguments) => status(arguments),
        FleetCommand::Collect(arguments) => merge(arguments),
        FleetCommand::Cancel(arguments) => stop(arguments),
        FleetCommand::Task(arguments) => return task(arguments),
    };
    result.unwrap_or_else(|code| code).into()
}

/// Opens a fleet to act on its contents, and finds a Slurm that answers. The fleet is read from the
/// folder that was checked.
fn open(path: &Path, trust: Trust) -> Result<(FleetFolder, Fleet, Slurm), Code> {
    // A folder that is not a fleet is reported first, as a usage error.
    read(path)?;
    let opened = FleetFolder::open_trusted(path, trust).and_then(with_document);
    let (folder, fleet) = opened.map_err(|error| refuse(&error))?;
    Ok((folder, fleet, Slurm::find().map_err(|error| refuse(&error))?))
}

/// Opens a fleet for reading.
fn read(path: &Path) -> Result<(FleetFolder, Fleet), Code> {
    FleetFolder::open(path).and_then(with_document).map_err(|error| {
        output::error(&error);
        Code::Usage
    })
}

fn with_document(folder: FleetFolder) -> Result<(FleetFolder, Fleet), assay_fleet::Error> {
    let fleet = folder.read_fleet()?;
    Ok((folder, fleet))
}

fn refuse(error: &dyn std::fmt::Display) -> Code {
    output::error(error);
    Code::Host
}

fn status(arguments: &FleetArguments) -> Result<Code, Code> {
    let (folder, fleet) = read(&arguments.fleet)?;
    let slurm = Slurm::from_fleet(&fleet);
    let states = states(&folder, &fleet, &slurm);
    let judgement = collect(&folder, &fleet, &states, &slurm);
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&judgement.hosts).map_err(|error| refuse(&error))?;
        output::data(&text);
    } else {
        let width = output::width();
        output::data_painted(|color| {
            assay_report::fleet_hosts_text(&judgement.hosts, width, color)
        });
    }
    Ok(Code::Kept)
}

fn merge(arguments: &FleetArguments) -> Result<Code, Code> {
    let (folder, fleet) = read(&arguments.fleet)?;
    let slurm = Slurm::from_fleet(&fleet);
    let states = states(&folder, &fleet, &slurm);
    conclude(&folder, &fleet, &slurm, &states, arguments.json)
}

fn stop(arguments: &FleetCancelArguments) -> Result<Code, Code> {
    let (folder, fleet, slurm) = open(&arguments.fleet, arguments.trust.trust())?;
    signal::note_interruptions();
    cancel(&fleet, &slurm).map_err(|error| refuse(&error))?;
    output::message("cancelling the jobs and waiting until every host is restored");
    let mut lines = Lines::new();
    let interrupted = wait(&folder, &fleet, &slurm, &mut lines).map_err(|error| refuse(&error))?;
    lines.finish();
    if interrupted.is_some() {
        return Ok(Code::Interrupted);
    }
    output::data("every task has ended");
    Ok(Code::Kept)
}

fn task(arguments: &FleetTaskArguments) -> ExitCode {
    let ended = FleetFolder::open_trusted(&arguments.fleet, arguments.trust.trust())
        .and_then(|folder| carry_out(&folder, arguments.task, arguments.job, &arguments.digest));
    match ended {
        Ok(end) => {
            if let Some(why) = &end.why {
                output::error(why);
            }
            let code = end.code.and_then(|code| u8::try_from(code).ok());
            code.map_or(Code::Host.into(), ExitCode::from)
        }
        Err(error) => refuse(&error).into(),
    }
}

/// Waits for a submitted fleet, then collects it.
fn wait_and_conclude(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    as_json: bool,
) -> Result<Code, Code> {
    let mut lines = Lines::new();
    let interrupted = wait(folder, fleet, slurm, &mut lines).map_err(|error| refuse(&error))?;
    lines.finish();
    let states = states(folder, fleet, slurm);
    let code = conclude(folder, fleet, slurm, &states, as_json)?;
    Ok(match (interrupted, code) {
        (Some(_), Code::RestoreIncomplete) | (None, _) => code,
        (Some(_), _) => Code::Interrupted,
    })
}

/// Merges the finished runs, writes the result and shows it.
fn conclude(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    states: &[TaskState],
    as_json: bool,
) -> Result<Code, Code> {
    let judgement = collect(folder, fleet, states, slurm);
    for (path, why) in write(folder, &judgement).map_err(|error| refuse(&error))? {
        output::message(&format!("samples left out: {}: {why}", path.display()));
    }
    if as_json {
        let text = folder.dir().text("fleet-verdict.json", MOST_TEXT);
        output::data(&text.map_err(|error| refuse(&error))?);
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::fleet_text(&judgement, width, color));
        output::data(&format!("report: {}", folder.file("report.html").display()));
    }
    Ok(code(&judgement))
}

/// The exit code for the results of the hosts (docs/cli.md).
fn code(judgement: &FleetJudgement) -> Code {
    let has = |code: Code| judgement.hosts.iter().any(|host| host.code == Some(code as i32));
    let none = judgement.hosts.iter().all(|host| host.overall_verdict().is_none());
    let in_progress = |state| matches!(state, HostState::Waiting | HostState::Running);
    if judgement.restored == Some(false) || has(Code::RestoreIncomplete) {
        return Code::RestoreIncomplete;
    }
    if has(Code::Workload) {
        return Code::Workload;
    }
    if none && !judgement.hosts.iter().any(|host| in_progress(host.state)) {
        return Code::Host;
    }
    // A study without promises succeeds if every host does.
    let all_did = judgement.hosts.iter().all(|host| host.code == Some(Code::Kept as i32));
    match judgement.verdict {
        Verdict::Void if none => Code::Undecided,
        Verdict::Void if all_did => Code::Kept,
        verdict => Code::from_verdict(verdict),
    }
}

/// The time limit of a study's tasks.
fn limit(requested: Option<Duration>, windows: Duration, repeats: usize, turns: usize) -> Limit {
    requested.map_or_else(|| assay_fleet::limit(windows, repeats, turns), Limit::for_run)
}
