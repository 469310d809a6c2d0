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
use assay_verdict::{FleetJudgement, HostState, Verdict};
use clap::{Args, Subcommand};

use crate::args::{StudyArguments, TrustArguments};
use crate::exit::Code;
use crate::load::MOST_TEXT;
use crate::output;
use show::Lines;

/// What can be done with many hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Submit a study to Slurm, one run a host; wait, collect, report
    Run(Box<FleetRunArguments>),
    /// Submit again what failed or was lost of a fleet; wait, collect, report
    Resume(FleetResumeArguments),
    /// Where the tasks of a fleet are
    Status(FleetArguments),
    /// Merge what the hosts have brought so far into one report
    Collect(FleetArguments),
    /// Cancel a fleet; every host is restored first
    Cancel(FleetCancelArguments),
    /// Carry out one task on this host; the job script calls it
    Task(FleetTaskArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FleetRunArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// These nodes, as Slurm writes lists of them: `node1,node[3-5]`
    #[arg(long, value_name = "LIST", conflicts_with = "nodes", help_heading = "Fleet")]
    hosts: Option<String>,
    /// Number of nodes, idle ones first; all nodes by default
    #[arg(long, value_name = "N", help_heading = "Fleet",
          value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Partition whose nodes to use; Slurm's default partition if not given
    #[arg(long, value_name = "NAME", help_heading = "Fleet")]
    partition: Option<String>,
    /// Divide the trials into this many parts, and the hosts among them, instead of running all
    /// trials on every host; as many parts as hosts by default
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "0",
          help_heading = "Fleet")]
    slices: Option<usize>,
    /// A folder that all hosts share under the same path; fleets are made in it
    #[arg(long, value_name = "DIR", default_value = "runs", help_heading = "Fleet")]
    shared: PathBuf,
    /// The fleet's own folder; `SHARED/<time>-<study>-fleet` by default
    #[arg(long, value_name = "DIR", help_heading = "Fleet")]
    out: Option<PathBuf>,
    /// How long the run of a host may take, where the plan cannot tell (a long preparation)
    #[arg(long, value_name = "DURATION", value_parser = crate::args::duration,
          help_heading = "Fleet")]
    time_limit: Option<Duration>,
    /// The program on the hosts; this one's path by default
    #[arg(long, value_name = "PATH", help_heading = "Fleet")]
    program: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Submit and leave; `assay fleet status` and `collect` do the rest
    #[arg(long, help_heading = "Fleet")]
    detach: bool,
    /// Print fleet-verdict.json instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetResumeArguments {
    /// The folder of a fleet
    fleet: PathBuf,
    /// Submit and leave
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
    /// The folder of a fleet
    fleet: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCancelArguments {
    /// The folder of a fleet
    fleet: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetTaskArguments {
    /// The folder of the fleet
    fleet: PathBuf,
    /// The number of the task, $SLURM_ARRAY_TASK_ID
    task: usize,
    /// The job that it belongs to, $SLURM_ARRAY_JOB_ID
    #[arg(long, value_name = "N")]
    job: u64,
    /// The SHA-256 of what was submitted; anything else in the folder is refused
    #[arg(long, value_name = "HEX")]
    digest: String,
    #[command(flatten)]
    trust: TrustArguments,
}

/// Carries out one of them.
pub(crate) fn run(command: &FleetCommand) -> ExitCode {
    let done = match command {
        FleetCommand::Run(arguments) => submit::run(arguments),
        FleetCommand::Resume(arguments) => submit::resume(arguments),
        FleetCommand::Status(arguments) => status(arguments),
        FleetCommand::Collect(arguments) => gather(arguments),
        FleetCommand::Cancel(arguments) => end(arguments),
        FleetCommand::Task(arguments) => return task(arguments),
    };
    done.unwrap_or_else(|code| code).into()
}

/// Opens a fleet to do what stands in it, and finds a Slurm that answers. The folder that was looked at
/// is the one that is read.
fn open(path: &Path, trust: Trust) -> Result<(FleetFolder, Fleet, Slurm), Code> {
    // That it is no fleet is said first, and is a mistake of another kind.
    read(path)?;
    let opened = FleetFolder::open_trusted(path, trust).and_then(with_document);
    let (folder, fleet) = opened.map_err(|error| refuse(&error))?;
    Ok((folder, fleet, Slurm::find().map_err(|error| refuse(&error))?))
}

/// Opens a fleet to look at it.
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
    let slurm = Slurm::of(&fleet);
    let found = states(&folder, &fleet, &slurm);
    let judgement = collect(&folder, &fleet, &found, &slurm);
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

fn gather(arguments: &FleetArguments) -> Result<Code, Code> {
    let (folder, fleet) = read(&arguments.fleet)?;
    let slurm = Slurm::of(&fleet);
    let found = states(&folder, &fleet, &slurm);
    conclude(&folder, &fleet, &slurm, &found, arguments.json)
}

fn end(arguments: &FleetCancelArguments) -> Result<Code, Code> {
    let (folder, fleet, slurm) = open(&arguments.fleet, arguments.trust.trust())?;
    signal::note_interruptions();
    cancel(&fleet, &slurm).map_err(|error| refuse(&error))?;
    output::say("the jobs are cancelled; waiting until every host is restored");
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

/// Waits for a fleet that was just submitted, then collects it.
fn wait_and_conclude(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    as_json: bool,
) -> Result<Code, Code> {
    let mut lines = Lines::new();
    let interrupted = wait(folder, fleet, slurm, &mut lines).map_err(|error| refuse(&error))?;
    lines.finish();
    let found = states(folder, fleet, slurm);
    let code = conclude(folder, fleet, slurm, &found, as_json)?;
    Ok(match (interrupted, code) {
        (Some(_), Code::RestoreIncomplete) | (None, _) => code,
        (Some(_), _) => Code::Interrupted,
    })
}

/// Merges what there is, writes it and shows it.
fn conclude(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    found: &[TaskState],
    as_json: bool,
) -> Result<Code, Code> {
    let judgement = collect(folder, fleet, found, slurm);
    for (path, why) in write(folder, &judgement).map_err(|error| refuse(&error))? {
        output::say(&format!("samples left out: {}: {why}", path.display()));
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

/// The exit code of docs/cli.md for what the hosts found.
fn code(judgement: &FleetJudgement) -> Code {
    let has = |code: Code| judgement.hosts.iter().any(|host| host.code == Some(code as i32));
    let none = judgement.hosts.iter().all(|host| host.found().is_none());
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
    // Where nothing is promised, hosts did what was asked.
    let all_did = judgement.hosts.iter().all(|host| host.code == Some(Code::Kept as i32));
    match judgement.verdict {
        Verdict::Void if none => Code::Undecided,
        Verdict::Void if all_did => Code::Kept,
        verdict => Code::of_verdict(verdict),
    }
}

/// The limit of a study's tasks.
fn limit(asked: Option<Duration>, windows: Duration, repeats: usize, turns: usize) -> Limit {
    asked.map_or_else(|| assay_fleet::limit(windows, repeats, turns), Limit::asked)
}
