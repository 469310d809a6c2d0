//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use assay_files::Trust;
use assay_study::{DiskChoice, Stop};
use clap::{Args, Parser, Subcommand};

use crate::command::conform::ConformArguments;

/// Was the machine divided as the kernel was told?
///
/// A study file says who shares what and what is promised. Assay sets the host up, runs real
/// workloads side by side in their control groups, samples what the kernel did, says for each
/// promise whether it was kept, broken, undecided or void, and puts the host back.
#[derive(Debug, Parser)]
#[command(
    name = "assay",
    version,
    arg_required_else_help = true,
    after_help = EXIT_CODES,
    max_term_width = 80
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 every promise kept, 1 a promise broken, 2 usage or study wrong,
3 undecided or void, 4 the host cannot do it, 5 a workload failed,
6 the host could not be restored, 130 interrupted (and restored).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: prepare, run, sample, judge, report, restore
    Run(RunArguments),
    /// Find the mistakes of a study and print its plan; touches nothing
    Check(CheckArguments),
    /// List the shipped studies, or print one
    Studies(StudiesArguments),
    /// Show the machine, and what can be studied on it
    ///
    /// CPUs, caches, nodes, control groups with their interface files, disks and schedulers.
    Host(HostArguments),
    /// Judge a recorded run again, or numbers from elsewhere
    Judge(crate::command::judge::JudgeArguments),
    /// Compare two runs, two levels, or a run with a baseline
    Compare(crate::command::compare::CompareArguments),
    /// Find out by intervention why a run's promise was broken
    Explain(crate::command::explain::ExplainArguments),
    /// Search the setting that keeps a promise at the most throughput
    Tune(crate::command::tune::TuneArguments),
    /// Write the report of a run again, or the list of all runs
    Report(ReportArguments),
    /// Write runs as Parquet, CSV, JSON lines, OpenMetrics and others
    Export(crate::command::export::ExportArguments),
    /// Run any command under limits, and say which of them bound
    Exec(crate::command::exec::ExecArguments),
    /// Record what a command, process or group does, without a study
    Sample(crate::command::sample::SampleArguments),
    /// List the groups of every hierarchy, and what they use
    Groups(crate::command::groups::GroupsArguments),
    /// Undo what a killed run left behind
    Restore(crate::command::restore::RestoreArguments),
    /// What will hold and where it breaks, before measuring
    Predict(crate::command::predict::PredictArguments),
    /// Run a study on many hosts through Slurm, and merge the runs
    #[command(subcommand)]
    Fleet(crate::command::fleet::FleetCommand),
    /// Run studies and commands in a virtual machine
    ///
    /// Other kernels, layouts of control groups, NUMA nodes and disks, without a change of this host.
    #[command(subcommand)]
    Lab(crate::command::lab::LabCommand),
    /// Print the JSON schema of study files, for editors
    Schema,
    /// Does the kernel do what its document says?
    ///
    /// One small real case for each behaviour, judged by its effect.
    Conform(ConformArguments),
    /// Print the completions of a shell
    Completions(crate::command::completions::CompletionsArguments),
    /// Write manual pages for all commands into a folder
    Man(crate::command::man::ManArguments),
}

/// Changes to a study that the command line makes.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArguments {
    /// A study file, or the name of a shipped study
    pub(crate) study: String,
    /// Replace the values of a factor, as `groups=4,8`; may be repeated
    #[arg(long = "set", value_name = "FACTOR=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// How often each trial runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// How long a repeat runs at most, as `20s`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) at_most: Option<Duration>,
    /// When it ends: `at_most` (the time is up), or `precise` (a trial of more than three repeats, or a
    /// single repeat, as soon as every promise is known well enough, whatever it shows)
    #[arg(long, value_name = "WHEN", value_parser = stop)]
    pub(crate) stop: Option<Stop>,
    /// Instead of the study's disk: `loop`, `block:/dev/x` or `null_blk:iops=500,depth=32,size=1GiB`;
    /// in the lab also `nvme:2GiB` or `virtio:2GiB`
    #[arg(long, value_name = "DISK", value_parser = disk)]
    pub(crate) disk: Option<DiskChoice>,
    /// Instead of the I/O scheduler of the study's disk
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Seed for the order of trials and for random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// The run folder; `runs/<time>-<study>` by default
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    /// Write a prediction into the run folder first, also where this disk was never measured
    #[arg(long)]
    pub(crate) predict: bool,
    /// Print verdict.json instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the plan and stop there, as `assay check` does
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Only a part of the trials, as `2/4` for the second of four; promises across trials of several
    /// parts are then left out
    #[arg(long, value_name = "K/N")]
    pub(crate) slice: Option<assay_plan::Shard>,
    /// Compare with this run afterwards; exit code 1 also when something became worse
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write samples and events as JSON lines to this file while it runs; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) live_jsonl: Option<PathBuf>,
}

/// Whether folders that others may change are taken.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrustArguments {
    /// Take folders in which others may change names, too: whoever may write there can make this
    /// program's user start what they like
    #[arg(long)]
    trust_folder: bool,
}

impl TrustArguments {
    pub(crate) fn trust(self) -> Trust {
        if self.trust_folder { Trust::Told } else { Trust::Checked }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Print mistakes and plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StudiesArguments {
    /// Print this study's file
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare the table of knobs with a new group in every hierarchy; exit code 1 if any differ
    #[arg(long)]
    pub(crate) knobs_check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder of a run
    #[arg(required_unless_present = "index")]
    pub(crate) run: Option<PathBuf>,
    /// Write the list of all runs in this folder (index.html) instead
    #[arg(long, value_name = "RUNS", conflicts_with = "run")]
    pub(crate) index: Option<PathBuf>,
}

fn stop(text: &str) -> Result<Stop, String> {
    match text {
        "at_most" => Ok(Stop::AtMost),
        "precise" | "decided" => Ok(Stop::Precise),
        _ => Err("write `at_most` or `precise`".to_owned()),
    }
}

fn disk(text: &str) -> Result<DiskChoice, String> {
    text.parse()
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = assay_units::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(1) {
        return Err("a repeat needs at least 1 s".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn no_option_names_another_that_does_not_exist() {
        Arguments::command().debug_assert();
    }
}
