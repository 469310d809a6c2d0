//! build: the host's C compiler on a generated project. docs/load/compute.md describes what is
//! measured.

mod compile;
mod source;

use std::path::PathBuf;

use assay_kernel::Root;
use clap::Args;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator};
use crate::measured::Backing;
use crate::output::Reporter;
use compile::ProjectDir;
use source::Project;

/// Touched part of a thread's stack.
const THREAD_BYTES: u64 = 24 << 10;
/// Memory per function of the project: its operations, and its text while it is written.
const FUNCTION_BYTES: u64 = 1 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 256 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Build {
    /// Number of source files
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=99_999))]
    files: u32,
    /// Functions per file
    #[arg(long, value_name = "N", default_value_t = 40)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    functions: u32,
    /// Compilers in parallel [default: --threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Directory to create the project in; it is removed at the end
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The compiler
    #[arg(long, value_name = "PROGRAM", default_value = "cc")]
    cc: PathBuf,
    /// Optimization level: the 2 of -O2
    #[arg(long, value_name = "LEVEL", default_value = "2")]
    optimize: String,
}

impl Build {
    fn jobs(&self, shared: &Shared) -> usize {
        self.jobs.map_or_else(|| shared.workers(), usize::from)
    }
}

impl Generator for Build {
    const NAME: &'static str = "build";
    const ABOUT: &'static str = "A compile of a generated C project by the host's compiler";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let functions = u64::from(self.files) * u64::from(self.functions);
        let parts = vec![
            ("project", functions * FUNCTION_BYTES),
            ("threads", THREAD_BYTES * self.jobs(shared) as u64),
            ("program", PROGRAM_BYTES),
        ];
        Ok(Footprint::new(vec![Phase { name: "build", parts }]))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        assay_kernel::signal::note_interruptions();
        let seed = shared.seed.unwrap_or(1);
        let project = Project::draw(self.files as usize, self.functions as usize, seed);
        let project_dir = ProjectDir::create(&self.dir, &self.cc, &self.optimize, &project)?;
        shared.ready()?;
        let built = project_dir.build(self.jobs(shared), reporter)?;
        let report = built.report(&project);
        project_dir.remove()?;
        Ok(Finished { report, backing: Backing::read(&Root::real()) })
    }
}
