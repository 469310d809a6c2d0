//! The command line.

use clap::{Parser, Subcommand};

use crate::command;

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
    Run(command::run::RunArguments),
    /// Check a study for mistakes and print its plan; changes nothing
    Check(command::check::CheckArguments),
    /// List the shipped studies, or print one
    Studies(command::studies::StudiesArguments),
    /// Show the machine, and what can be studied on it
    ///
    /// CPUs, caches, nodes, control groups with their interface files, disks and schedulers.
    Host(command::host::HostArguments),
    /// Judge a recorded run again, or numbers from another tool
    Judge(command::judge::JudgeArguments),
    /// Compare two runs, two levels, or a run with a baseline
    Compare(command::compare::CompareArguments),
    /// Find out by intervention why a promise was broken
    Explain(command::explain::ExplainArguments),
    /// Find the setting that keeps a promise at the highest throughput
    Tune(command::tune::TuneArguments),
    /// Rewrite the report of a run, or the list of all runs
    Report(command::report::ReportArguments),
    /// Write runs as Parquet, CSV, JSON lines, OpenMetrics and others
    Export(command::export::ExportArguments),
    /// Run a command under limits and show which of them were reached
    Exec(command::exec::ExecArguments),
    /// Record what a command, process or group does, without a study
    Sample(command::sample::SampleArguments),
    /// Find settings of this host's groups that have no effect
    ///
    /// Weights that no scheduler reads, protection that a group above cancels, limits that another reaches
    /// first, numbers that were translated. Nothing is started or changed.
    Audit(command::audit::AuditArguments),
    /// Show what a group, process or command waited for
    ///
    /// The waiting of its threads for a CPU, by who had the CPU meanwhile.
    Blame(command::blame::BlameArguments),
    /// Prove the limits of a running group
    ///
    /// Whether memory.max kills, pids.max refuses, cpu.max throttles, cpu.weight divides, cpuset.cpus binds and io.max
    /// caps reads, each tried on a copy beside the group.
    Probe(command::probe::ProbeArguments),
    /// List the groups of every hierarchy and what they use
    Groups(command::groups::GroupsArguments),
    /// Restore the host after a killed run
    Restore(command::restore::RestoreArguments),
    /// Run a study on many hosts through Slurm, and merge the runs
    #[command(subcommand)]
    Fleet(command::fleet::FleetCommand),
    /// Run studies and commands in a virtual machine
    ///
    /// Other kernels, cgroup layouts, NUMA nodes and disks, without changing this host.
    #[command(subcommand)]
    Lab(command::lab::LabCommand),
    /// Print the JSON schema of study files, for editors
    Schema,
    /// Test whether the kernel behaves as documented
    ///
    /// One small real case for each behaviour, judged by its effect. Not for production hosts: on some
    /// kernels two cases leave all other work on two CPUs without CPU time for a second, and on Linux
    /// 7.3 two change for some seconds how the whole machine divides CPU time.
    Conform(command::conform::ConformArguments),
    /// Test several kernels with the same cases
    ///
    /// The running one, and others in virtual machines: which promises each keeps.
    Passport(command::passport::PassportArguments),
    /// Print shell completions
    Completions(command::completions::CompletionsArguments),
    /// Write manual pages for all commands to a folder
    Man(command::man::ManArguments),
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
