//! One phase: reads all counters, does its work, and reads them again.

use std::io;
use std::path::Path;

use assay_load_memory::page_cache;
use assay_sys::kernel::{Root, clock};
use clap::ValueEnum;

use super::content::Content;
use super::kernel_counters::KernelCounters;
use super::test_file::{OpenMode, TestFile, ended};
use super::transfer::{Direction, Transfer};
use crate::failure::Failure;

/// The operation of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Phase {
    /// write it for the first time, bypassing the page cache if the file system can
    Create,
    /// drop it from the page cache, then read it
    FirstRead,
    /// read it again
    SecondRead,
    /// write it again, through the page cache
    WriteBuffered,
    /// wait until it is on the disk (fdatasync)
    Flush,
    /// write it again, bypassing the page cache (O_DIRECT)
    WriteDirect,
    /// write it again, waiting for the disk at each write (O_SYNC)
    WriteSync,
}

impl Phase {
    /// The name in the JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::FirstRead => "first_read",
            Self::SecondRead => "second_read",
            Self::WriteBuffered => "write_buffered",
            Self::Flush => "flush",
            Self::WriteDirect => "write_direct",
            Self::WriteSync => "write_sync",
        }
    }

    pub(super) fn reads(self) -> bool {
        matches!(self, Self::FirstRead | Self::SecondRead)
    }

    /// Direction and open mode of the transfer; a flush transfers nothing itself.
    fn how(self) -> Option<(Direction, OpenMode)> {
        match self {
            Self::FirstRead | Self::SecondRead => Some((Direction::Read, OpenMode::Buffered)),
            Self::WriteBuffered => Some((Direction::Write, OpenMode::Buffered)),
            Self::Create | Self::WriteDirect => Some((Direction::Write, OpenMode::Direct)),
            Self::WriteSync => Some((Direction::Write, OpenMode::Synchronous)),
            Self::Flush => None,
        }
    }
}

/// A phase and its measurement, or why it was not possible.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) phase: Phase,
    pub(super) outcome: Result<Measurement, String>,
}

/// Measurement of a phase.
#[derive(Debug)]
pub(super) struct Measurement {
    /// Description of the access path.
    pub(super) access: &'static str,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Bytes read or written.
    pub(super) bytes: u64,
    pub(super) before: KernelCounters,
    pub(super) after: KernelCounters,
}

/// Runs a phase. `generation` counts how often the file was written.
pub(super) fn run(
    phase: Phase,
    transfer: &Transfer,
    test_file: &TestFile,
    generation: &mut u64,
    root: &Root,
) -> Result<Record, Failure> {
    let (how, access) = match (phase.how(), direct_is_missing(phase, test_file)?) {
        (Some((direction, OpenMode::Direct)), Some(reason)) if phase != Phase::Create => {
            debug_assert_eq!(direction, Direction::Write);
            return Ok(Record { phase, outcome: Err(reason) });
        }
        // The file must be created even without direct I/O.
        (Some((direction, OpenMode::Direct)), Some(_)) => {
            (Some((direction, OpenMode::Buffered)), "buffered: no direct I/O here")
        }
        (how, _) => (how, name(how)),
    };
    if phase == Phase::FirstRead {
        forget(test_file)?;
    }
    if how.is_some_and(|(direction, _)| direction == Direction::Write) && phase != Phase::Create {
        *generation += 1;
    }
    let content = Content { seed: transfer.seed, generation: *generation };
    let before = KernelCounters::read(root, test_file);
    let begin_ns = clock::monotonic_ns();
    let bytes = match how {
        Some((direction, access)) => transfer.run(direction, access, content, test_file)?,
        None => flush(test_file)?,
    };
    let end_ns = clock::monotonic_ns();
    let after = KernelCounters::read(root, test_file);
    Ok(Record {
        phase,
        outcome: Ok(Measurement { access, begin_ns, end_ns, bytes, before, after }),
    })
}

fn name(how: Option<(Direction, OpenMode)>) -> &'static str {
    match how {
        None => "fdatasync",
        Some((_, OpenMode::Buffered)) => "buffered",
        Some((_, OpenMode::Direct)) => "direct",
        Some((_, OpenMode::Synchronous)) => "synchronous",
    }
}

/// Why a phase with direct I/O is not possible, if so: open(2) fails with EINVAL.
fn direct_is_missing(phase: Phase, test_file: &TestFile) -> Result<Option<String>, Failure> {
    if !matches!(phase.how(), Some((_, OpenMode::Direct))) {
        return Ok(None);
    }
    match test_file.open(OpenMode::Direct) {
        Ok(_) => Ok(None),
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => {
            Ok(Some(format!("the file system has no direct I/O (O_DIRECT: {cause})")))
        }
        Err(cause) => Err(ended("open", &test_file.path, &cause)),
    }
}

/// Writes out the file and drops it from the page cache.
fn forget(test_file: &TestFile) -> Result<(), Failure> {
    let failed = |what: &str, path: &Path, cause: &io::Error| ended(what, path, cause);
    let file = test_file
        .open(OpenMode::Buffered)
        .map_err(|cause| failed("open", &test_file.path, &cause))?;
    file.sync_all().map_err(|cause| failed("fsync", &test_file.path, &cause))?;
    Ok(page_cache::drop_clean_pages(&file, &test_file.path)?)
}

fn flush(test_file: &TestFile) -> Result<u64, Failure> {
    let file = test_file
        .open(OpenMode::Buffered)
        .map_err(|cause| ended("open", &test_file.path, &cause))?;
    file.sync_data().map_err(|cause| ended("fdatasync", &test_file.path, &cause))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_verify_the_last_write() {
        let directory = tempfile::tempdir().unwrap();
        let test_file = TestFile::in_directory(directory.path()).unwrap();
        let transfer = Transfer { size: 1 << 20, block: 1 << 16, threads: 2, seed: 3 };
        let root = Root::real();
        let mut generation = 0;
        let mut go = |phase| run(phase, &transfer, &test_file, &mut generation, &root).unwrap();
        let order = [
            Phase::Create,
            Phase::FirstRead,
            Phase::SecondRead,
            Phase::WriteBuffered,
            Phase::SecondRead,
            Phase::Flush,
            Phase::WriteDirect,
            Phase::SecondRead,
            Phase::WriteSync,
            Phase::FirstRead,
        ];
        for phase in order {
            let record = go(phase);
            match record.outcome {
                Ok(outcome) => {
                    assert!(outcome.begin_ns <= outcome.end_ns);
                    let expected = if phase == Phase::Flush { 0 } else { 1 << 20 };
                    assert_eq!(outcome.bytes, expected, "{phase:?}");
                    if phase.reads() {
                        let resident = outcome.after.file.unwrap().resident;
                        assert_eq!(resident, 1 << 20, "{phase:?}");
                    }
                }
                Err(reason) => assert!(reason.contains("O_DIRECT"), "{phase:?}: {reason}"),
            }
        }
    }
}
