//! The command line.

use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use crate::command;
use crate::output::OutputArguments;

/// Check whether the kernel divides this machine as configured
///
/// A study file says who shares what and what is promised. Assay sets the host up, runs real
/// workloads side by side in their control groups, samples what the kernel did, decides for each
/// promise whether it was kept, broken, undecided or void, and restores the host.
#[derive(Debug, Parser)]
#[command(
    name = "assay",
    version,
    long_version = BUILD.as_str(),
    arg_required_else_help = true,
    after_help = EXIT_CODES,
    max_term_width = 80
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Which build this is; `make` and the scripts of a release name its commit.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("ASSAY_COMMIT").filter(|commit| !commit.is_empty());
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    format!(
        "{} (commit {}, {}, {linked})",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or("not recorded"),
        std::env::consts::ARCH
    )
});

const EXIT_CODES: &str = "\
Exit codes: 0 every promise kept, 1 a promise broken, 2 wrong usage or study,
3 undecided or void, 4 the host cannot do it, 5 a workload failed,
6 the host could not be restored, 130 interrupted (and restored).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find settings of this host's cgroups that have no effect
    ///
    /// Weights that no scheduler reads, protection that a group above cancels, limits that another reaches
    /// first, numbers that were translated. Nothing is started or changed.
    Audit(command::audit::AuditArguments),
    /// Compare what cgroups were promised with what they got
    ///
    /// Watches this host for some time: the shares of groups while they contended for CPUs and disks, the limits
    /// that held, and the protection that was reclaimed.
    Fairness(command::fairness::FairnessArguments),
    /// Show what a cgroup, process or command waited for
    ///
    /// The waiting of its threads for a CPU, by who had the CPU meanwhile, and for disks and memory.
    Blame(command::blame::BlameArguments),
    /// Prove the limits of a running cgroup
    ///
    /// Whether memory.max kills, pids.max refuses, cpu.max throttles, cpu.weight divides, cpuset.cpus binds and io.max
    /// caps reads, each tried on a copy beside the cgroup.
    Probe(command::probe::ProbeArguments),
    /// List the cgroups of every hierarchy and what they use
    Top(command::top::TopArguments),
    /// Check a study for mistakes and print its plan; changes nothing
    Check(command::check::CheckArguments),
    /// Run a study: prepare, run, sample, judge, report, restore
    Run(command::run::RunArguments),
    /// Run a command under limits and show which of them were reached
    Exec(command::exec::ExecArguments),
    /// Record what a command, process or cgroup does, without a study
    Record(command::record::RecordArguments),
    /// Write reports of runs: a page, Parquet, CSV, JUnit and others
    Report(command::report::ReportArguments),
    /// Compare two runs, two levels, or a run with a baseline
    Compare(command::compare::CompareArguments),
    /// Find out by intervention why a promise was broken
    Diagnose(command::diagnose::DiagnoseArguments),
    /// Find the setting that keeps a promise at the highest throughput
    Tune(command::tune::TuneArguments),
    /// Judge a recorded run again, or numbers from another tool
    Judge(command::judge::JudgeArguments),
    /// Test whether kernels behave as documented
    ///
    /// One small real case for each behaviour, judged by its effect. Not for production hosts: on some
    /// kernels two cases leave all other work on two CPUs without CPU time for a second, and on Linux
    /// 7.3 two change for some seconds how the whole machine divides CPU time.
    Conform(command::conform::ConformArguments),
    /// Show the machine, and what can be studied on it
    ///
    /// CPUs, caches, nodes, control groups, disks and schedulers.
    Host(command::host::HostArguments),
    /// Restore the host after a killed run
    Restore(command::restore::RestoreArguments),
    /// Explain a code that Assay printed
    Explain(command::explain::ExplainArguments),
    /// Print what editors, shells and man need
    #[command(subcommand, hide = true)]
    Generate(command::generate::GenerateCommand),
    /// Run studies and commands in a virtual machine
    ///
    /// Other kernels, cgroup layouts, NUMA nodes and disks, without changing this host.
    #[command(subcommand)]
    Lab(command::lab::LabCommand),
    /// Run a study on many hosts through Slurm, and merge the runs
    #[command(subcommand)]
    Fleet(command::fleet::FleetCommand),
}

impl Command {
    /// Whether it reads ledgers, and mostly writes one.
    pub(crate) const fn keeps_ledger(&self) -> bool {
        matches!(
            self,
            Self::Blame(_)
                | Self::Probe(_)
                | Self::Run(_)
                | Self::Exec(_)
                | Self::Diagnose(_)
                | Self::Tune(_)
                | Self::Conform(_)
                | Self::Restore(_)
        )
    }
}

/// The groups in which `--help` shows the commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Live hosts", &["audit", "fairness", "blame", "probe", "top"]),
    ("Studies", &["check", "run", "exec", "record"]),
    ("Results", &["report", "compare", "diagnose", "tune", "judge"]),
    ("Kernels", &["conform"]),
    ("Set-up", &["host", "restore", "explain"]),
    ("Elsewhere", &["lab", "fleet"]),
];

/// The program whose `--help` shows the commands in groups.
pub(crate) fn grouped(program: clap::Command) -> clap::Command {
    let mut list = String::new();
    let heading = clap::builder::Styles::styled().get_header().to_owned();
    let name_style = clap::builder::Styles::styled().get_literal().to_owned();
    for (title, names) in GROUPS {
        list.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for name in names {
            let about = program.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            list.push_str(&format!("  {name_style}{name:<9}{name_style:#} {about}\n"));
        }
        list.push('\n');
    }
    let options = format!("{heading}Options:{heading:#}");
    program.help_template(format!(
        "{{about-section}}\n{{usage-heading}} {{usage}}\n\n{list}{options}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::{Arguments, GROUPS};

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_shows_every_command_once_and_there_are_at_most_20() {
        let program = Arguments::command();
        let visible = program.get_subcommands().filter(|command| !command.is_hide_set());
        let commands: BTreeSet<&str> = visible.map(clap::Command::get_name).collect();
        let shown: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(shown.iter().copied().collect::<BTreeSet<_>>(), commands);
        assert!(shown.len() == commands.len() && commands.len() <= 20, "{shown:?}");
    }
}
