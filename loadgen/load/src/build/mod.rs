//! build: the host's C compiler on a generated project. docs/load/compute.md describes what is
//! measured.

mod compile;
mod source;

use std::path::PathBuf;

use assay_sys::kernel::Root;
use clap::Args;
use serde_json::{Value, json};

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
/// Room on the disk per source file besides its functions: blocks of 4 KiB that its text, its object and its part of the program
/// do not fill, and their headers.
const FILE_BYTES: u64 = 16 << 10;
/// Room on the disk per function: its text, its code in the object at -O2 and in the program.
const FUNCTION_FILE_BYTES: u64 = 3 << 10;
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

    fn storage(&self, _: &Shared) -> Result<Option<Value>, Failure> {
        let files = u64::from(self.files);
        let each = FILE_BYTES + u64::from(self.functions) * FUNCTION_FILE_BYTES;
        Ok(Some(json!({
            "directory": self.dir.display().to_string(),
            "predicted_bytes": files * each,
        })))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        assay_sys::kernel::signal::note_interruptions();
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::output::Silence;

    /// What `assay check` makes room for is at least what a build takes, and not many times that.
    #[test]
    fn a_build_takes_no_more_room_than_predicted() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            shared: Shared,
            #[command(flatten)]
            build: Build,
        }
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().display().to_string();
        let words = ["build", "--files", "6", "--functions", "30", "--dir", &dir];
        let line = <Line as clap::Parser>::parse_from(words);
        let storage = line.build.storage(&line.shared).unwrap().unwrap();
        let predicted = storage["predicted_bytes"].as_u64().unwrap();
        let project = Project::draw(6, 30, 1);
        let cc = Path::new("cc");
        let project_dir = ProjectDir::create(temp.path(), cc, "2", &project).unwrap();
        project_dir.build(1, &Silence).unwrap();
        // In blocks, as a file system has them.
        let size =
            |entry: std::fs::DirEntry| entry.metadata().unwrap().len().next_multiple_of(4096);
        let files = std::fs::read_dir(temp.path().join("assay-build")).unwrap();
        let taken: u64 = files.map(|entry| size(entry.unwrap())).sum();
        assert!((predicted / 3..=predicted).contains(&taken), "{taken} of {predicted}");
    }
}
