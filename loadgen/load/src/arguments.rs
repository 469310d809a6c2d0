//! The command line: options shared by all generators, and the `assay-load` command.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use assay_sys::kernel::anonymous_memory::HugePages;
use assay_sys::kernel::clock;
use clap::{Args, Command, ValueEnum};

use crate::failure::Failure;
use crate::generator::Generator;
use crate::registry::GENERATORS;

/// Options shared by all generators.
#[derive(Debug, Clone, Args)]
pub struct Shared {
    /// Print the result as one JSON document
    #[arg(long)]
    pub json: bool,
    /// Seed for all random numbers [default: the original program's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Threads [default: the CPUs this process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Print how much memory the run would use, and exit
    #[arg(long)]
    pub predict: bool,
    /// Start even if the predicted memory does not fit: for studies of memory limits
    #[arg(long)]
    pub anyway: bool,
    /// Transparent huge pages: request them, forbid them, or keep the host's setting
    #[arg(long, value_enum, default_value_t = Huge::Advise)]
    pub huge_pages: Huge,
    /// Interleave memory page by page over these nodes (`0-1`, or `all`), and verify it afterwards
    #[arg(long, value_name = "NODES")]
    pub interleave: Option<String>,
    /// When ready to begin, write the process id into this FIFO and stop until SIGCONT, so that
    /// many loads can begin at the same instant
    #[arg(long, value_name = "FIFO", alias = "gate")]
    pub start_barrier: Option<PathBuf>,
}

/// `--huge-pages`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Huge {
    /// madvise(MADV_HUGEPAGE)
    #[value(name = "wanted")]
    Advise,
    /// madvise(MADV_NOHUGEPAGE)
    Never,
    /// no advice
    System,
}

impl From<Huge> for HugePages {
    fn from(huge: Huge) -> Self {
        match huge {
            Huge::Advise => Self::Advise,
            Huge::Never => Self::Never,
            Huge::System => Self::System,
        }
    }
}

impl Shared {
    /// Number of worker threads: `--threads`, or as many as the affinity mask and the CPU limit of
    /// the control group allow.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            usize::from,
        )
    }

    /// Shared options for tests: small pages and the given number of threads.
    #[cfg(test)]
    pub(crate) fn with_threads(threads: u16) -> Self {
        Self {
            json: false,
            seed: None,
            threads: Some(threads),
            predict: false,
            anyway: false,
            huge_pages: Huge::Never,
            interleave: None,
            start_barrier: None,
        }
    }

    /// Waits at the start barrier, if `--start-barrier` names one. A generator calls this once, when its
    /// files, data and threads are ready and before the first operation that counts. Returns that
    /// moment in CLOCK_MONOTONIC nanoseconds.
    pub fn ready(&self) -> Result<u64, Failure> {
        if let Some(fifo) = &self.start_barrier {
            // The leading blank separates it from what other processes may have written there.
            let line = format!(" {}\n", std::process::id());
            let failed = |cause: std::io::Error| Failure::Unable {
                what: format!("cannot use the start barrier `{}`: {cause}", fifo.display()),
                remedy: "create it with mkfifo, and read from it".to_owned(),
            };
            let mut pipe = OpenOptions::new().append(true).open(fifo).map_err(failed)?;
            pipe.write_all(line.as_bytes()).map_err(failed)?;
            drop(pipe);
            assay_sys::kernel::process::stop_self()?;
        }
        Ok(clock::monotonic_ns())
    }
}

/// The command `assay-load` with one subcommand per generator.
#[must_use]
pub fn command() -> Command {
    Command::new("assay-load")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Load generators, each exact to its published definition")
        .after_help(
            "Exit code: 0 done and validated, 2 usage, 4 the host cannot do it (with what is \
             needed), 5 the result is wrong.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(GENERATORS.iter().map(|entry| (entry.command)()))
}

/// The command of one generator: its own options and the shared ones.
pub(crate) fn generator_command<G: Generator>() -> Command {
    let own = G::augment_args(Command::new(G::NAME));
    // Last, since clap takes the comment of a structure of options for what the command does.
    Shared::augment_args(own.next_help_heading("Shared by all generators")).about(G::ABOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_valid() {
        command().debug_assert();
    }

    #[test]
    fn every_generator_has_the_shared_options() {
        for entry in GENERATORS {
            let command = (entry.command)();
            for option in [
                "json",
                "seed",
                "threads",
                "predict",
                "anyway",
                "huge_pages",
                "interleave",
                "start_barrier",
            ] {
                let has = command.get_arguments().any(|argument| argument.get_id() == option);
                assert!(has, "`{}` lacks --{option}", entry.name);
            }
        }
    }

    #[test]
    fn every_generator_says_what_it_does() {
        let command = command();
        let all = command.get_subcommands().map(|one| one.get_about().unwrap().to_string());
        let different: std::collections::BTreeSet<String> = all.collect();
        assert_eq!(different.len(), GENERATORS.len(), "{different:?}");
    }

    #[test]
    fn zero_threads_are_refused() {
        let error = command().try_get_matches_from(["assay-load", "graph500", "--threads", "0"]);
        assert!(error.is_err());
    }
}
