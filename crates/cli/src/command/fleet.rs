//! `assay fleet`

use std::path::PathBuf;
use std::time::Duration;

use assay_fleet::job::{FleetOptions, OpenFleet, collect_fleet, fleet_code, submit_fleet};
use assay_sys::exit::{Code, Error};
use clap::{Args, Subcommand};

use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::shared_arguments::{
    FormatArguments, LOADS, StudyArguments, TrustArguments, YesArguments,
};

/// Subcommands of `assay fleet`.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Submit a study to Slurm, one run per host
    Run(Box<FleetRunArguments>),
    /// Submit tasks without a verdict again
    Resume(FleetResumeArguments),
    /// Judge the runs that exist side by side, in one report
    Collect(FleetCollectArguments),
}

#[derive(Debug, Args)]
#[command(after_help = LOADS)]
pub(crate) struct FleetRunArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Nodes, as `node1,node[3-5]`
    #[arg(
        long,
        value_name = "LIST",
        conflicts_with = "nodes",
        required_unless_present = "nodes",
        help_heading = "Fleet"
    )]
    hosts: Option<String>,
    /// Number of nodes; Slurm chooses them
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
}

#[derive(Debug, Args)]
pub(crate) struct FleetResumeArguments {
    /// Folder of the fleet
    fleet: PathBuf,
    #[command(flatten)]
    trust: TrustArguments,
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

/// Runs a subcommand.
pub(crate) fn run(command: &FleetCommand) -> Result<Code, Error> {
    match command {
        FleetCommand::Run(arguments) => submit(arguments),
        FleetCommand::Resume(arguments) => resume(arguments),
        FleetCommand::Collect(arguments) => collect(arguments),
    }
}

/// Submits a study.
fn submit(arguments: &FleetRunArguments) -> Result<Code, Error> {
    let loaded = load(&arguments.study.choice(), false)?;
    arguments.yes.confirm_load()?;
    let options = FleetOptions {
        hosts: arguments.hosts.clone(),
        nodes: arguments.nodes.unwrap_or(0),
        partition: arguments.partition.clone(),
        shared: arguments.shared.clone(),
        out: arguments.out.clone(),
        time_limit: arguments.timeout,
        program: arguments.program.clone(),
        trust: arguments.trust.trust(),
    };
    let fleet = submit_fleet(&this_host(), &loaded, &options, &mut Terminal)?;
    let path = fleet.folder.path().display().to_string();
    let word = assay_sys::escape::shell_word(&path);
    output::message(&format!("when `squeue` shows its jobs no longer: assay fleet collect {word}"));
    output::data(&path);
    Ok(Code::Kept)
}

/// Submits tasks without a verdict again.
fn resume(arguments: &FleetResumeArguments) -> Result<Code, Error> {
    let mut fleet = OpenFleet::open_trusted(&arguments.fleet, arguments.trust.trust())?;
    fleet.resubmit(&mut Terminal)?;
    Ok(Code::Kept)
}

/// Merges the runs, writes the result and shows it.
fn collect(arguments: &FleetCollectArguments) -> Result<Code, Error> {
    let (path, copies) = (&arguments.fleet, &arguments.collect_from);
    let judgement = collect_fleet(path, copies, arguments.trust.trust(), &mut Terminal)?;
    if arguments.format.is_json() {
        output::json(&judgement)?;
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::fleet_text(&judgement, width, color));
        output::data(&format!("report: {}", path.join("report.html").display()));
    }
    Ok(fleet_code(&judgement))
}
