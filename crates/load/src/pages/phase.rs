//! One phase: looks at all counters, does its work, and looks again.

use std::io;
use std::path::Path;

use assay_kernel::{Root, clock, page_cache};
use clap::ValueEnum;

use super::content::Content;
use super::kernel_counters::KernelCounters;
use super::place::{Place, Way, ended};
use super::transfer::{Direction, Transfer};
use crate::failure::Failure;

/// What is done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Phase {
    /// write it for the first time, past the page cache where the file system can
    Create,
    /// have the kernel forget it, then read it
    FirstRead,
    /// read it once more
    SecondRead,
    /// write it again, through the page cache
    WriteBuffered,
    /// wait until it is on the disk (fdatasync)
    Flush,
    /// write it again, past the page cache (O_DIRECT)
    WriteDirect,
    /// write it again, each write waiting for the disk (O_SYNC)
    WriteSync,
}

impl Phase {
    /// As in the JSON.
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

    /// How it moves the file; a flush moves nothing by itself.
    fn how(self) -> Option<(Direction, Way)> {
        match self {
            Self::FirstRead | Self::SecondRead => Some((Direction::Read, Way::Buffered)),
            Self::WriteBuffered => Some((Direction::Write, Way::Buffered)),
            Self::Create | Self::WriteDirect => Some((Direction::Write, Way::Direct)),
            Self::WriteSync => Some((Direction::Write, Way::Synchronous)),
            Self::Flush => None,
        }
    }
}

/// A phase that was done, or why it could not be.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) phase: Phase,
    pub(super) found: Result<Found, String>,
}

/// What a phase gave.
#[derive(Debug)]
pub(super) struct Found {
    /// How it went to the file.
    pub(super) way: &'static str,
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Bytes that were read or written.
    pub(super) bytes: u64,
    pub(super) before: KernelCounters,
    pub(super) after: KernelCounters,
}

/// Does a phase. `generation` counts the writings of the file.
pub(super) fn run(
    phase: Phase,
    transfer: &Transfer,
    place: &Place,
    generation: &mut u64,
    root: &Root,
) -> Result<Record, Failure> {
    let (how, way) = match (phase.how(), direct_is_missing(phase, place)?) {
        (Some((direction, Way::Direct)), Some(reason)) if phase != Phase::Create => {
            debug_assert_eq!(direction, Direction::Write);
            return Ok(Record { phase, found: Err(reason) });
        }
        // The file must come from somewhere.
        (Some((direction, Way::Direct)), Some(_)) => {
            (Some((direction, Way::Buffered)), "buffered: no direct I/O here")
        }
        (how, _) => (how, name(how)),
    };
    if phase == Phase::FirstRead {
        forget(place)?;
    }
    if how.is_some_and(|(direction, _)| direction == Direction::Write) && phase != Phase::Create {
        *generation += 1;
    }
    let content = Content { seed: transfer.seed, generation: *generation };
    let before = KernelCounters::look(root, place);
    let begin_ns = clock::monotonic_ns();
    let bytes = match how {
        Some((direction, way)) => transfer.go(direction, way, content, place)?,
        None => flush(place)?,
    };
    let end_ns = clock::monotonic_ns();
    let after = KernelCounters::look(root, place);
    Ok(Record { phase, found: Ok(Found { way, begin_ns, end_ns, bytes, before, after }) })
}

fn name(how: Option<(Direction, Way)>) -> &'static str {
    match how {
        None => "fdatasync",
        Some((_, Way::Buffered)) => "buffered",
        Some((_, Way::Direct)) => "direct",
        Some((_, Way::Synchronous)) => "synchronous",
    }
}

/// Why a phase that goes past the page cache cannot, where it cannot: open(2) says so with EINVAL.
fn direct_is_missing(phase: Phase, place: &Place) -> Result<Option<String>, Failure> {
    if !matches!(phase.how(), Some((_, Way::Direct))) {
        return Ok(None);
    }
    match place.open(Way::Direct) {
        Ok(_) => Ok(None),
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => {
            Ok(Some(format!("the file system has no direct I/O (O_DIRECT: {cause})")))
        }
        Err(cause) => Err(ended("open", &place.path, &cause)),
    }
}

/// Writes out and forgets what the page cache has of the file.
fn forget(place: &Place) -> Result<(), Failure> {
    let failed = |what: &str, path: &Path, cause: &io::Error| ended(what, path, cause);
    let file = place.open(Way::Buffered).map_err(|cause| failed("open", &place.path, &cause))?;
    file.sync_all().map_err(|cause| failed("fsync", &place.path, &cause))?;
    Ok(page_cache::forget(&file, &place.path)?)
}

fn flush(place: &Place) -> Result<u64, Failure> {
    let file = place.open(Way::Buffered).map_err(|cause| ended("open", &place.path, &cause))?;
    file.sync_data().map_err(|cause| ended("fdatasync", &place.path, &cause))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_find_what_the_last_writing_has_left() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::in_directory(directory.path()).unwrap();
        let transfer = Transfer { size: 1 << 20, block: 1 << 16, threads: 2, seed: 3 };
        let root = Root::real();
        let mut generation = 0;
        let mut go = |phase| run(phase, &transfer, &place, &mut generation, &root).unwrap();
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
            match record.found {
                Ok(found) => {
                    assert!(found.begin_ns <= found.end_ns);
                    let expected = if phase == Phase::Flush { 0 } else { 1 << 20 };
                    assert_eq!(found.bytes, expected, "{phase:?}");
                    if phase.reads() {
                        let resident = found.after.file.unwrap().resident;
                        assert_eq!(resident, 1 << 20, "{phase:?}");
                    }
                }
                Err(reason) => assert!(reason.contains("O_DIRECT"), "{phase:?}: {reason}"),
            }
        }
    }
}
