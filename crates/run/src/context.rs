//! What the functions of this crate need of the world: a kernel, a folder for state, and a runner.

use std::path::PathBuf;

use assay_host::facts::HostFacts;
use assay_host::state_dir;
use assay_record::run_folder::Guest;
use assay_study::plan::Footprint;
use assay_sys::kernel::{Root, signal};

use crate::runner::{Failure, Finished, Request, Schedule, StopRule};

/// Runs plans, and generators that predict their own memory. Tests replace it.
pub trait Runner {
    /// Runs a request, in the order of `schedule` if there is one.
    ///
    /// # Errors
    /// Only if nothing was changed; see `crate::runner::run`.
    fn run(
        &self,
        request: &Request,
        observer: &mut dyn crate::runner::Observer,
        stop_rule: &mut dyn StopRule,
        schedule: Option<&mut dyn Schedule>,
    ) -> Result<Finished, Failure>;

    /// What a generator predicts to use; see `crate::runner::footprint`.
    ///
    /// # Errors
    /// The reason why there is no number.
    fn footprint(&self, command: &[String]) -> Result<Footprint, String>;
}

/// The runner of this host. SIGINT, SIGTERM, SIGHUP and SIGQUIT stop a run, which restores the host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostRunner;

impl Runner for HostRunner {
    fn run(
        &self,
        request: &Request,
        observer: &mut dyn crate::runner::Observer,
        stop_rule: &mut dyn StopRule,
        schedule: Option<&mut dyn Schedule>,
    ) -> Result<Finished, Failure> {
        signal::note_interruptions();
        match schedule {
            Some(schedule) => crate::runner::run_schedule(request, observer, stop_rule, schedule),
            None => crate::runner::run(request, observer, stop_rule),
        }
    }

    fn footprint(&self, command: &[String]) -> Result<Footprint, String> {
        crate::runner::footprint(command)
    }
}

/// The host, and what is recorded of the caller.
pub struct Context {
    /// The kernel's files.
    pub root: Root,
    /// The machine with its programs, if known already; otherwise it is read below `root` for each study.
    pub facts: Option<HostFacts>,
    /// Folder of ledgers.
    pub state_dir: PathBuf,
    /// Runs the plans.
    pub runner: Box<dyn Runner>,
    /// The command line, recorded in run folders.
    pub command: Vec<String>,
    /// The guest of the lab that this is, if it is one.
    pub guest: Option<Guest>,
}

impl Context {
    /// This host, on behalf of a command line.
    #[must_use]
    pub fn of_this_host(command: Vec<String>) -> Self {
        Self {
            root: Root::real(),
            facts: None,
            state_dir: state_dir(),
            runner: Box::new(HostRunner),
            command,
            guest: std::env::var(Guest::VARIABLE).ok().and_then(|text| Guest::parse(&text)),
        }
    }
}
