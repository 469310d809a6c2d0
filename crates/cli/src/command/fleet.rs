//! `assay fleet`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use assay_fleet::{FleetFolder, cancel, carry_out};
use assay_kernel::signal;
use assay_session::{
    Code, Error, FleetOptions, FleetProgress, MOST_TEXT, OpenFleet, collect_copies, fleet_code,
    open_fleet, read_fleet, resubmit_fleet, submit_fleet,
};
use clap::{Args, Subcommand};

use crate::live_terminal::LiveTerminal;
use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::shared_arguments::{StudyArguments, TrustArguments};

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
    Collect(FleetCollectArguments),
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
          alias = "slices", help_heading = "Fleet")]
    shards: Option<usize>,
    /// Folder that all hosts share under the same path; fleets are created in it
    #[arg(long, value_name = "DIR", default_value = "runs", help_heading = "Fleet")]
    shared: PathBuf,
    /// Folder of this fleet [default: `SHARED/<time>-<study>-fleet`]
    #[arg(long, value_name = "DIR", help_heading = "Fleet")]
    out: Option<PathBuf>,
    /// Time limit for the run of a host, if the plan cannot tell (a long preparation)
    #[arg(long, value_name = "DURATION", value_parser = crate::parsers::repeat_length,
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
pub(crate) struct FleetCollectArguments {
    /// Folder of the fleet; with --collect-from also a new one
    fleet: PathBuf,
    /// First take the runs below these folders, which were copied from hosts without a shared folder
    #[arg(long, value_name = "DIR", num_args = 1..)]
    collect_from: Vec<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Print fleet-verdict.json instead of a table
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
pub(crate) fn run(command: &FleetCommand) -> Result<ExitCode, Error> {
    let code = match command {
        FleetCommand::Run(arguments) => submit(arguments)?,
        FleetCommand::Resume(arguments) => resume(arguments)?,
        FleetCommand::Status(arguments) => status(arguments)?,
        FleetCommand::Collect(arguments) => collect(arguments)?,
        FleetCommand::Cancel(arguments) => stop(arguments)?,
        FleetCommand::Task(arguments) => return task(arguments),
    };
    Ok(code.into())
}

/// Submits a study and waits for its end, unless detached.
fn submit(arguments: &FleetRunArguments) -> Result<Code, Error> {
    signal::note_interruptions();
    let loaded = load(&arguments.study.choice(), arguments.json)?;
    let options = FleetOptions {
        hosts: arguments.hosts.clone(),
        nodes: arguments.nodes,
        partition: arguments.partition.clone(),
        slices: arguments.shards,
        shared: arguments.shared.clone(),
        out: arguments.out.clone(),
        time_limit: arguments.time_limit,
        program: arguments.program.clone(),
        trust: arguments.trust.trust(),
    };
    let fleet = submit_fleet(&this_host(), &loaded, &options, &mut Terminal)?;
    detach_or_wait(&fleet, arguments.detach, arguments.json)
}

/// Resubmits failed and lost tasks.
fn resume(arguments: &FleetResumeArguments) -> Result<Code, Error> {
    signal::note_interruptions();
    let fleet = resubmit_fleet(&arguments.fleet, arguments.trust.trust(), &mut Terminal)?;
    detach_or_wait(&fleet, arguments.detach, arguments.json)
}

fn detach_or_wait(fleet: &OpenFleet, detach: bool, as_json: bool) -> Result<Code, Error> {
    if !detach {
        return wait_and_conclude(fleet, as_json);
    }
    let path = fleet.folder.path().display();
    let word = assay_escape::shell_word(&path.to_string());
    output::message(&format!(
        "assay fleet status {word}   shows it; collect, cancel and resume too"
    ));
    output::data(&path.to_string());
    Ok(Code::Kept)
}

fn status(arguments: &FleetArguments) -> Result<Code, Error> {
    let judgement = read_fleet(&arguments.fleet)?.judgement();
    if arguments.json {
        output::json(&judgement.hosts)?;
    } else {
        let (hosts, width) = (&judgement.hosts, output::width());
        output::data_painted(|color| assay_report::fleet_hosts_text(hosts, width, color));
    }
    Ok(Code::Kept)
}

fn collect(arguments: &FleetCollectArguments) -> Result<Code, Error> {
    if arguments.collect_from.is_empty() {
        return conclude(&read_fleet(&arguments.fleet)?, arguments.json);
    }
    signal::note_interruptions();
    let (from, trust) = (&arguments.collect_from, arguments.trust.trust());
    let taken = collect_copies(&arguments.fleet, from, trust, &mut Terminal)?;
    match taken.interrupted {
        Some(_) => Ok(Code::Interrupted),
        None => conclude(&taken.open, arguments.json),
    }
}

fn stop(arguments: &FleetCancelArguments) -> Result<Code, Error> {
    let fleet = open_fleet(&arguments.fleet, arguments.trust.trust())?;
    signal::note_interruptions();
    cancel(&fleet.fleet, &fleet.slurm).map_err(Error::host)?;
    output::message("cancelling the jobs and waiting until every host is restored");
    if fleet.wait(&mut FleetProgress::new(LiveTerminal::new()))?.is_some() {
        return Ok(Code::Interrupted);
    }
    output::data("every task has ended");
    Ok(Code::Kept)
}

fn task(arguments: &FleetTaskArguments) -> Result<ExitCode, Error> {
    let end = FleetFolder::open_trusted(&arguments.fleet, arguments.trust.trust())
        .and_then(|folder| carry_out(&folder, arguments.task, arguments.job, &arguments.digest))
        .map_err(Error::host)?;
    if let Some(why) = &end.why {
        output::error(why);
    }
    let code = end.code.and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(Code::Host.into(), ExitCode::from))
}

/// Waits for a submitted fleet, then collects it.
fn wait_and_conclude(fleet: &OpenFleet, as_json: bool) -> Result<Code, Error> {
    let interrupted = fleet.wait(&mut FleetProgress::new(LiveTerminal::new()))?;
    let code = conclude(fleet, as_json)?;
    Ok(match (interrupted, code) {
        (Some(_), Code::RestoreIncomplete) | (None, _) => code,
        (Some(_), _) => Code::Interrupted,
    })
}

/// Merges the finished runs, writes the result and shows it.
fn conclude(fleet: &OpenFleet, as_json: bool) -> Result<Code, Error> {
    let judgement = fleet.merge(&mut Terminal)?;
    let folder = &fleet.folder;
    if as_json {
        let text = folder.dir().text("fleet-verdict.json", MOST_TEXT);
        output::data(&text.map_err(Error::host)?);
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::fleet_text(&judgement, width, color));
        output::data(&format!("report: {}", folder.file("report.html").display()));
    }
    Ok(fleet_code(&judgement))
}
