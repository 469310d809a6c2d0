//! pages: what the page cache does to a file that is made, read twice and written in three ways,
//! phase by phase. What is measured stands in docs/load/storage.md.

mod content;
mod kernel_counters;
mod output;
mod phase;
mod place;
mod transfer;

use std::path::PathBuf;

use assay_kernel::{Root, filesystem, signal};
use assay_units::Bytes;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, shown};
use crate::generator::{Finished, Generator};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::sleep;
use assay_kernel::clock;
use phase::{Phase, Record};
use place::Place;
use transfer::Transfer;

/// Direct I/O wants multiples of the device's block size, at most this.
const PAGE: u64 = 4096;
/// A thread's stack, as far as it is touched.
const THREAD: u64 = 24 << 10;
/// Code and data of the program that are touched only when it works.
const PROGRAM: u64 = 160 << 10;

/// Arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct PagesOfFile {
    /// Where the file is made; it is removed in the end
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Size of the file
    #[arg(long, value_name = "BYTES", default_value = "1GiB")]
    size: Bytes,
    /// Bytes of a read or write
    #[arg(long, value_name = "BYTES", default_value = "1MiB")]
    block: Bytes,
    /// What is done after the file was made, in this order
    #[arg(long, value_enum, value_name = "PHASE,PHASE,...", value_delimiter = ',')]
    #[arg(default_value = "first-read,second-read,write-buffered,flush,write-direct,write-sync")]
    phases: Vec<Phase>,
    /// Rest before each phase, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pause: f64,
}

impl PagesOfFile {
    fn transfer(&self, shared: &Shared) -> Result<Transfer, Failure> {
        let whole = |name: &str, bytes: Bytes| {
            if bytes.get() == 0 || !bytes.get().is_multiple_of(PAGE) {
                return Err(Failure::usage(format!(
                    "--{name} {bytes}: a multiple of {PAGE} bytes, as direct I/O wants it"
                )));
            }
            Ok(bytes.get())
        };
        if !(0.0..=1e9).contains(&self.pause) {
            return Err(Failure::usage(format!("--pause {}: seconds, 0 or more", self.pause)));
        }
        if self.phases.contains(&Phase::Create) {
            return Err(Failure::usage("--phases: `create` comes first by itself"));
        }
        let (size, block) = (whole("size", self.size)?, whole("block", self.block)?);
        Ok(Transfer {
            size,
            block: block.min(size),
            threads: shared.threads.map_or(1, usize::from),
            seed: shared.seed.unwrap_or(1),
        })
    }

    /// Bytes that the directory has room for.
    fn free(&self) -> Result<u64, Failure> {
        if !self.directory.is_dir() {
            let shown = self.directory.display();
            return Err(Failure::usage(format!("--directory {shown}: there is no such directory")));
        }
        Ok(filesystem::free_space(&self.directory)?)
    }

    fn go(
        &self,
        transfer: &Transfer,
        place: &Place,
        root: &Root,
        talk: &dyn Reporter,
    ) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::with_capacity(self.phases.len() + 1);
        let mut generation = 0;
        for phase in std::iter::once(Phase::Create).chain(self.phases.iter().copied()) {
            if signal::interrupted_by().is_some() {
                break;
            }
            sleep::until(clock::monotonic_ns() + (self.pause * 1e9) as u64);
            talk.progress("phases", records.len(), self.phases.len() + 1);
            let record = phase::run(phase, transfer, place, &mut generation, root)?;
            if let Err(reason) = &record.found {
                talk.say(&format!("{}: not available: {reason}", phase.name()));
            }
            records.push(record);
        }
        Ok(records)
    }
}

impl Generator for PagesOfFile {
    const NAME: &'static str = "pages";
    const ABOUT: &'static str =
        "Phases of the page cache: a file made, read twice, and written in three ways";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let transfer = self.transfer(shared)?;
        let (needed, free) = (transfer.size, self.free()?);
        if free < needed && !shared.anyway {
            return Err(Failure::Unable {
                what: format!(
                    "the file takes {}, and {} are free in {}",
                    shown(needed),
                    shown(free),
                    self.directory.display()
                ),
                remedy: "choose a smaller --size, or another --directory".to_owned(),
            });
        }
        let threads = transfer.threads as u64;
        let parts = vec![
            ("blocks", threads * transfer.block),
            ("threads", threads * THREAD),
            ("program", PROGRAM),
        ];
        Ok(Footprint::of_phases(vec![crate::footprint::Phase { name: "phases", parts }]))
    }

    fn storage(&self, shared: &Shared) -> Result<Option<Value>, Failure> {
        let transfer = self.transfer(shared)?;
        Ok(Some(json!({
            "directory": self.directory.display().to_string(),
            "predicted_bytes": transfer.size,
            "free_bytes": self.free()?,
        })))
    }

    fn run(&self, shared: &Shared, talk: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let root = Root::real();
        let transfer = self.transfer(shared)?;
        let place = Place::in_directory(&self.directory)?;
        shared.ready()?;
        let records = self.go(&transfer, &place, &root, talk)?;
        let report = output::report(&transfer, &records, signal::interrupted_by());
        Ok(Finished { report, backing: Backing::read(&root) })
    }
}
