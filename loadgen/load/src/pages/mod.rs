//! pages: page cache behaviour for a file that is created, read twice and written in three ways,
//! phase by phase. docs/load/storage.md describes what is measured.

mod content;
mod kernel_counters;
mod output;
mod phase;
mod test_file;
mod transfer;

use std::path::PathBuf;

use assay_sys::kernel::{Root, filesystem, signal};
use assay_sys::units::Bytes;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, format_bytes};
use crate::generator::{Finished, Generator};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::sleep;
use assay_sys::kernel::clock;
use phase::{Phase, Record};
use test_file::TestFile;
use transfer::Transfer;

/// Alignment for direct I/O: a multiple of the device's block size.
const PAGE: u64 = 4096;
/// Touched part of a thread's stack.
const THREAD_BYTES: u64 = 24 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 160 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct PagesOfFile {
    /// Directory for the file; the file is removed at the end
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Size of the file
    #[arg(long, value_name = "BYTES", default_value = "1GiB")]
    size: Bytes,
    /// Bytes per read or write
    #[arg(long, value_name = "BYTES", default_value = "1MiB")]
    block: Bytes,
    /// Phases after the creation of the file, in this order
    #[arg(long, value_enum, value_name = "PHASE,PHASE,...", value_delimiter = ',')]
    #[arg(default_value = "first-read,second-read,write-buffered,flush,write-direct,write-sync")]
    phases: Vec<Phase>,
    /// Pause before each phase, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pause: f64,
}

impl PagesOfFile {
    fn transfer(&self, shared: &Shared) -> Result<Transfer, Failure> {
        let whole = |name: &str, bytes: Bytes| {
            if bytes.get() == 0 || !bytes.get().is_multiple_of(PAGE) {
                return Err(Failure::usage(format!(
                    "--{name} {bytes}: must be a multiple of {PAGE} bytes, as direct I/O requires"
                )));
            }
            Ok(bytes.get())
        };
        if !(0.0..=1e9).contains(&self.pause) {
            return Err(Failure::usage(format!(
                "--pause {}: must be 0 seconds or more",
                self.pause
            )));
        }
        if self.phases.contains(&Phase::Create) {
            return Err(Failure::usage("--phases: `create` always comes first"));
        }
        let (size, block) = (whole("size", self.size)?, whole("block", self.block)?);
        Ok(Transfer {
            size,
            block: block.min(size),
            threads: shared.threads.map_or(1, usize::from),
            seed: shared.seed.unwrap_or(1),
        })
    }

    /// Free bytes of the file system.
    fn free(&self) -> Result<u64, Failure> {
        if !self.directory.is_dir() {
            let directory = self.directory.display();
            return Err(Failure::usage(format!("--directory {directory}: no such directory")));
        }
        Ok(filesystem::free_space(&self.directory)?)
    }

    fn run_phases(
        &self,
        transfer: &Transfer,
        test_file: &TestFile,
        root: &Root,
        reporter: &dyn Reporter,
    ) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::with_capacity(self.phases.len() + 1);
        let mut generation = 0;
        for phase in std::iter::once(Phase::Create).chain(self.phases.iter().copied()) {
            if signal::interrupted_by().is_some() {
                break;
            }
            sleep::until(clock::monotonic_ns() + (self.pause * 1e9) as u64);
            reporter.progress("phases", records.len(), self.phases.len() + 1);
            let record = phase::run(phase, transfer, test_file, &mut generation, root)?;
            if let Err(reason) = &record.outcome {
                reporter.line(&format!("{}: not available: {reason}", phase.name()));
            }
            records.push(record);
        }
        Ok(records)
    }
}

impl Generator for PagesOfFile {
    const NAME: &'static str = "pages";
    const ABOUT: &'static str =
        "Phases of the page cache: a file is created, read twice, and written in three ways";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let transfer = self.transfer(shared)?;
        let (needed, free) = (transfer.size, self.free()?);
        if free < needed && !shared.anyway {
            return Err(Failure::Unable {
                what: format!(
                    "the file takes {}, and {} are free in {}",
                    format_bytes(needed),
                    format_bytes(free),
                    self.directory.display()
                ),
                remedy: "choose a smaller --size, or another --directory".to_owned(),
            });
        }
        let threads = transfer.threads as u64;
        let parts = vec![
            ("blocks", threads * transfer.block),
            ("threads", threads * THREAD_BYTES),
            ("program", PROGRAM_BYTES),
        ];
        Ok(Footprint::new(vec![crate::footprint::Phase { name: "phases", parts }]))
    }

    fn storage(&self, shared: &Shared) -> Result<Option<Value>, Failure> {
        let transfer = self.transfer(shared)?;
        Ok(Some(json!({
            "directory": self.directory.display().to_string(),
            "predicted_bytes": transfer.size,
            "free_bytes": self.free()?,
        })))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let root = Root::real();
        let transfer = self.transfer(shared)?;
        let test_file = TestFile::in_directory(&self.directory)?;
        shared.ready()?;
        let records = self.run_phases(&transfer, &test_file, &root, reporter)?;
        let report = output::report(&transfer, &records, signal::interrupted_by());
        Ok(Finished { report, backing: Backing::read(&root) })
    }
}
