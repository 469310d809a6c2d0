//! build: the host's C compiler on a project that is made up here. What is measured stands in
//! docs/load/compute.md.

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
use compile::Yard;
use source::Project;

/// A thread's stack, as far as it is touched.
const THREAD: u64 = 24 << 10;
/// Memory of a function of the project: its operations and its text while it is written.
const FUNCTION: u64 = 1 << 10;
/// Code and data of the program that are touched only when it works.
const PROGRAM: u64 = 256 << 10;

/// Arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Build {
    /// Files of the project
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=99_999))]
    files: u32,
    /// Functions of a file
    #[arg(long, value_name = "N", default_value_t = 40)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    functions: u32,
    /// Compilers at once [default: as --threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The directory to make the project in; it is removed in the end
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The compiler
    #[arg(long, value_name = "PROGRAM", default_value = "cc")]
    cc: PathBuf,
    /// What the compiler is to do about speed: the 2 of -O2
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
            ("project", functions * FUNCTION),
            ("threads", THREAD * self.jobs(shared) as u64),
            ("program", PROGRAM),
        ];
        Ok(Footprint::of_phases(vec![Phase { name: "build", parts }]))
    }

    fn run(&self, shared: &Shared, talk: &dyn Reporter) -> Result<Finished, Failure> {
        assay_kernel::signal::note_interruptions();
        let seed = shared.seed.unwrap_or(1);
        let project = Project::draw(self.files as usize, self.functions as usize, seed);
        let yard = Yard::make(&self.dir, &self.cc, &self.optimize, &project)?;
        shared.ready()?;
        let built = yard.build(self.jobs(shared), talk)?;
        let report = built.report(&project);
        yard.clear()?;
        Ok(Finished { report, backing: Backing::read(&Root::real()) })
    }
}
