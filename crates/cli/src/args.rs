//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_files::Trust;
use assay_session::{Destination, StudyChoice};
use assay_study::{DiskOverride, Stop};
use clap::{Args, Parser, Subcommand};

use crate::command::conform::ConformArguments;
use crate::parsers::repeat_length;

/// Check whether the kernel divides this machine as configured
///
/// A study file says who shares what and what is promised. Assay sets the host up, runs real
/// workloads side by side in their control groups, samples what the kernel did, decides for each
/// promise whether it was kept, broken, undecided or void, and restores the host.
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
Exit codes: 0 every promise kept, 1 a promise broken, 2 wrong usage or study,
3 undecided or void, 4 the host cannot do it, 5 a workload failed,
6 the host could not be restored, 130 interrupted (and restored).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: prepare, run, sample, judge, report, restore
    Run(RunArguments),
    /// Check a study for mistakes and print its plan; changes nothing
    Check(CheckArguments),
    /// List the shipped studies, or print one
    Studies(StudiesArguments),
    /// Show the machine, and what can be studied on it
    ///
    /// CPUs, caches, nodes, control groups with their interface files, disks and schedulers.
    Host(HostArguments),
    /// Judge a recorded run again, or numbers from another tool
    Judge(crate::command::judge::JudgeArguments),
    /// Compare two runs, two levels, or a run with a baseline
    Compare(crate::command::compare::CompareArguments),
    /// Find out by intervention why a promise was broken
    Explain(crate::command::explain::ExplainArguments),
    /// Find the setting that keeps a promise at the highest throughput
    Tune(crate::command::tune::TuneArguments),
    /// Rewrite the report of a run, or the list of all runs
    Report(ReportArguments),
    /// Write runs as Parquet, CSV, JSON lines, OpenMetrics and others
    Export(crate::command::export::ExportArguments),
    /// Run a command under limits and show which of them were reached
    Exec(crate::command::exec::ExecArguments),
    /// Record what a command, process or group does, without a study
    Sample(crate::command::sample::SampleArguments),
    /// Show what a group, process or command waited for
    ///
    /// The waiting of its threads for a CPU, by who had the CPU meanwhile.
    Blame(crate::command::blame::BlameArguments),
    /// List the groups of every hierarchy and what they use
    Groups(crate::command::groups::GroupsArguments),
    /// Restore the host after a killed run
    Restore(crate::command::restore::RestoreArguments),
    /// Predict which promises will hold, before measuring
    Predict(crate::command::predict::PredictArguments),
    /// Run a study on many hosts through Slurm, and merge the runs
    #[command(subcommand)]
    Fleet(crate::command::fleet::FleetCommand),
    /// Run studies and commands in a virtual machine
    ///
    /// Other kernels, cgroup layouts, NUMA nodes and disks, without changing this host.
    #[command(subcommand)]
    Lab(crate::command::lab::LabCommand),
    /// Print the JSON schema of study files, for editors
    Schema,
    /// Test whether the kernel behaves as documented
    ///
    /// One small real case for each behaviour, judged by its effect.
    Conform(ConformArguments),
    /// Print shell completions
    Completions(crate::command::completions::CompletionsArguments),
    /// Write manual pages for all commands to a folder
    Man(crate::command::man::ManArguments),
}

/// Overrides of a study on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct StudyArguments {
    /// Study file, or name of a shipped study
    pub(crate) study: String,
    /// Override the values of a factor, e.g. `groups=4,8`; may be repeated
    #[arg(long = "set", value_name = "FACTOR=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// Number of repeats of each trial
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: Option<u32>,
    /// Maximum length of a repeat, e.g. `20s`
    #[arg(long, value_name = "DURATION", value_parser = repeat_length)]
    pub(crate) at_most: Option<Duration>,
    /// When to stop: `at_most` (when the time is up) or `precise` (a trial of more than three repeats, or
    /// a single repeat, as soon as every promise is known precisely enough, whatever its verdict)
    #[arg(long, value_name = "WHEN", value_parser = stop)]
    pub(crate) stop: Option<Stop>,
    /// Use this disk instead of the study's: `loop`, `block:/dev/x` or
    /// `null_blk:iops=500,depth=32,size=1GiB`; in the lab also `nvme:2GiB` or `virtio:2GiB`
    #[arg(long, value_name = "DISK")]
    pub(crate) disk: Option<DiskOverride>,
    /// Use this I/O scheduler instead of the study's
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Seed for the order of trials and for random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl StudyArguments {
    pub(crate) fn choice(&self) -> StudyChoice {
        // Name every field, so that a new one is not forgotten here.
        let Self { study, set, repeats, at_most, stop, disk, scheduler, seed } = self.clone();
        StudyChoice { study, set, repeats, at_most, stop, disk, scheduler, order: None, seed }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) study: StudyArguments,
    /// Run folder [default: `runs/<time>-<study>`]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArguments,
    /// First write a prediction into the run folder, even if this disk was never calibrated
    #[arg(long)]
    pub(crate) predict: bool,
    /// Print verdict.json instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the plan and stop, like `assay check`
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run only a part of the trials, e.g. `2/4` for the second of four; promises across trials of
    /// several parts are left out
    #[arg(long, value_name = "K/N", alias = "slice")]
    pub(crate) shard: Option<assay_plan::Shard>,
    /// Compare with this run afterwards; exit code 1 also for a regression
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write samples and events as JSON lines to this file during the run; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) live_jsonl: Option<PathBuf>,
    /// Write the exit code and all errors as JSON to this file at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) errors_json: Option<PathBuf>,
}

/// Whether folders that other users can write to are accepted.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrustArguments {
    /// Accept folders that other users can write to; they can then make this program run any command
    /// as you
    #[arg(long)]
    trust_folder: bool,
}

impl TrustArguments {
    pub(crate) fn trust(self) -> Trust {
        if self.trust_folder { Trust::UserConfirmed } else { Trust::Checked }
    }

    /// Where to write: the run folder of `--out`, or a default one.
    pub(crate) fn destination(self, out: Option<&Path>) -> Destination {
        Destination { out: out.map(Path::to_owned), trust: self.trust() }
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
    /// Print the file of this study
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare the knob table with a new group in every hierarchy; exit code 1 on any difference
    #[arg(long)]
    pub(crate) knobs_check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run folder
    #[arg(required_unless_present = "index")]
    pub(crate) run: Option<PathBuf>,
    /// Instead write the list of all runs in this folder (index.html)
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
