//! `assay fleet`

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_fleet::CopySources;
use assay_fleet::job::{FleetOptions, OpenFleet, collect_fleet, fleet_code, submit_fleet};
use assay_sys::exit::{Code, Error};
use assay_sys::files::Trust;
use assay_sys::kernel::signal;
use clap::{Args, Subcommand};

use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::shared_arguments::{
    FormatArguments, LOADS, StudyArguments, TrustArguments, YesArguments,
};

/// Subcommands of `assay fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Submit a study to Slurm, one run per host, and collect the runs
    Run(Box<FleetRunArguments>),
    /// Resubmit tasks without a verdict, and collect the runs
    Resume(FleetResumeArguments),
    /// Show the state of a fleet's tasks
    Status(FleetArguments),
    /// Judge the runs that exist side by side, in one report
    Collect(FleetCollectArguments),
    /// Cancel a fleet; every host is restored first
    Cancel(FleetCancelArguments),
}

#[derive(Debug, Args)]
#[command(after_help = LOADS)]
pub(crate) struct FleetRunArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Nodes, as `node1,node[3-5]`
    #[arg(long, value_name = "LIST", conflicts_with = "nodes", help_heading = "Fleet")]
    hosts: Option<String>,
    /// Number of nodes; all by default
    #[arg(long, value_name = "N", help_heading = "Fleet",
          value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Partition, else Slurm's default
    #[arg(long, value_name = "NAME", help_heading = "Fleet")]
    partition: Option<String>,
    /// Folder that all hosts share
    ///
    /// Under the same path; fleets are created in it.
    #[arg(long, value_name = "DIR", default_value = "runs", help_heading = "Fleet")]
    shared: PathBuf,
    /// Folder of this fleet
    ///
    /// By default `SHARED/<time>-<study>-fleet`.
    #[arg(long, value_name = "DIR", help_heading = "Fleet")]
    out: Option<PathBuf>,
    /// Time limit for the run of a host
    ///
    /// If the plan cannot tell: a long preparation.
    #[arg(long, value_name = "DURATION", value_parser = crate::parsers::repeat_length,
          help_heading = "Fleet")]
    timeout: Option<Duration>,
    /// Path of the program on all hosts
    #[arg(long, value_name = "PATH", help_heading = "Fleet")]
    program: Option<PathBuf>,
    #[command(flatten)]
    yes: YesArguments,
    #[command(flatten)]
    trust: TrustArguments,
    /// Submit and exit
    ///
    /// Follow with `assay fleet status` and `collect`.
    #[arg(long, help_heading = "Fleet")]
    detach: bool,
    #[command(flatten)]
    format: FormatArguments,
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
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCollectArguments {
    /// Folder of the fleet; with --collect-from also another one, for the report
    fleet: PathBuf,
    /// Judge runs below these folders too
    ///
    /// They were copied from hosts without a shared folder.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    collect_from: Vec<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FleetCancelArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
}

/// Runs a subcommand.
pub(crate) fn run(command: &FleetCommand) -> Result<Code, Error> {
    match command {
        FleetCommand::Run(arguments) => submit(arguments),
        FleetCommand::Resume(arguments) => resume(arguments),
        FleetCommand::Status(arguments) => status(arguments),
        FleetCommand::Collect(arguments) => collect(arguments),
        FleetCommand::Cancel(arguments) => stop(arguments),
    }
}

/// Submits a study and waits for its end, unless detached.
fn submit(arguments: &FleetRunArguments) -> Result<Code, Error> {
    let loaded = load(&arguments.study.choice(), arguments.format.is_json())?;
    arguments.yes.confirm_load()?;
    signal::note_interruptions();
    let options = FleetOptions {
        hosts: arguments.hosts.clone(),
        nodes: arguments.nodes,
        partition: arguments.partition.clone(),
        shared: arguments.shared.clone(),
        out: arguments.out.clone(),
        time_limit: arguments.timeout,
        program: arguments.program.clone(),
        trust: arguments.trust.trust(),
    };
    let fleet = submit_fleet(&this_host(), &loaded, &options, &mut Terminal)?;
    detach_or_wait(&fleet, arguments.detach, arguments.format.is_json())
}

/// Resubmits tasks without a verdict.
fn resume(arguments: &FleetResumeArguments) -> Result<Code, Error> {
    signal::note_interruptions();
    let mut fleet = OpenFleet::open_trusted(&arguments.fleet, arguments.trust.trust())?;
    fleet.resubmit(&mut Terminal)?;
    detach_or_wait(&fleet, arguments.detach, arguments.format.is_json())
}

fn detach_or_wait(fleet: &OpenFleet, detach: bool, as_json: bool) -> Result<Code, Error> {
    let path = fleet.folder.path();
    if detach {
        let word = assay_sys::escape::shell_word(&path.display().to_string());
        output::message(&format!(
            "assay fleet status {word}   shows it; collect, cancel and resume too"
        ));
        output::data(&path.display().to_string());
        return Ok(Code::Kept);
    }
    let interrupted = fleet.wait(&mut Terminal)?;
    let code = conclude(path, &[], Trust::Checked, as_json)?;
    Ok(match (interrupted, code) {
        (Some(_), Code::RestoreIncomplete) | (None, _) => code,
        (Some(_), _) => Code::Interrupted,
    })
}

fn status(arguments: &FleetArguments) -> Result<Code, Error> {
    let judgement = OpenFleet::open(&arguments.fleet)?.judgement(&CopySources::default());
    if arguments.format.is_json() {
        output::json(&judgement.hosts)?;
    } else {
        let (hosts, width) = (&judgement.hosts, output::width());
        output::data_painted(|color| assay_report::fleet_hosts_text(hosts, width, color));
    }
    Ok(Code::Kept)
}

fn collect(arguments: &FleetCollectArguments) -> Result<Code, Error> {
    let (copies, trust) = (&arguments.collect_from, arguments.trust.trust());
    conclude(&arguments.fleet, copies, trust, arguments.format.is_json())
}

fn stop(arguments: &FleetCancelArguments) -> Result<Code, Error> {
    let fleet = OpenFleet::open_trusted(&arguments.fleet, arguments.trust.trust())?;
    signal::note_interruptions();
    fleet.cancel(&mut Terminal)?;
    if fleet.wait(&mut Terminal)?.is_some() {
        return Ok(Code::Interrupted);
    }
    output::data("every task has ended");
    Ok(Code::Kept)
}

/// Merges the runs, writes the result and shows it.
fn conclude(path: &Path, copies: &[PathBuf], trust: Trust, as_json: bool) -> Result<Code, Error> {
    let judgement = collect_fleet(path, copies, trust, &mut Terminal)?;
    if as_json {
        output::json(&judgement)?;
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::fleet_text(&judgement, width, color));
        output::data(&format!("report: {}", path.join("report.html").display()));
    }
    Ok(fleet_code(&judgement))
}
