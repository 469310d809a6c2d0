//! Concurrent direct reads or writes of one file from one thread, by Linux's own asynchronous I/O
//! (io_setup(2), io_submit(2), io_getevents(2)). For an I/O scheduler with a queue per process they form one
//! queue, which those of several threads do not.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::kernel::error::Error;

// include/uapi/linux/aio_abi.h.
const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
/// Direct I/O requires buffers and offsets aligned to the device's block size, at most a page.
const ALIGNMENT: usize = 4096;

/// `struct iocb`, in little-endian layout and, as far as it is used here, that of others too: `key` and
/// `rw_flags` are 0.
#[repr(C)]
#[derive(Clone, Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

/// What is done to each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It is read.
    Read,
    /// It is overwritten with zeros.
    Write,
}

impl Direction {
    fn opcode(self) -> u16 {
        match self {
            Self::Read => IOCB_CMD_PREAD,
            Self::Write => IOCB_CMD_PWRITE,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A file opened for direct I/O of blocks of one size.
#[derive(Debug)]
pub struct DirectIo {
    path: PathBuf,
    direction: Direction,
    file: File,
    context: libc::c_ulong,
    /// The kernel uses this until an operation has ended; only `start` and `drop` need to consider that.
    memory: Vec<u8>,
    block: usize,
    /// Slots that the kernel may use.
    busy: Vec<bool>,
}

impl DirectIo {
    /// Opens `path` for up to `depth` concurrent operations on `block` bytes each.
    pub fn open(
        path: &Path,
        direction: Direction,
        block: usize,
        depth: usize,
    ) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(direction == Direction::Read)
            .write(direction == Direction::Write)
            .custom_flags(libc::O_DIRECT)
            .open(path)
            .map_err(|cause| Error::new("open", path, &cause))?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the new context's number to the second argument, which lives
        // through the call.
        let answer =
            unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_long, &raw mut context) };
        if answer != 0 {
            return Err(Error::new("io_setup", path, &io::Error::last_os_error()));
        }
        let memory = vec![0; block * depth + ALIGNMENT];
        let (path, busy) = (path.to_owned(), vec![false; depth]);
        Ok(Self { path, direction, file, context, memory, block, busy })
    }

    /// Starts one at `offset`, a multiple of the block size, into `slot`, which must be below the
    /// depth and free.
    pub fn start(&mut self, slot: usize, offset: u64) -> Result<(), Error> {
        if self.busy.get(slot) == Some(&true) {
            let hint = format!("the last one in slot {slot} is in progress");
            return Err(self.failed(hint));
        }
        let first = self.memory.as_ptr().align_offset(ALIGNMENT) + slot * self.block;
        if slot >= self.busy.len() || first + self.block > self.memory.len() {
            return Err(self.failed(format!("there is no slot {slot}")));
        }
        // Only a pointer, since the kernel may be writing into the other slots.
        let buffer = self.memory.as_mut_ptr().wrapping_add(first);
        let request = Request {
            data: slot as u64,
            opcode: self.direction.opcode(),
            file: self.file.as_raw_fd().cast_unsigned(),
            buffer: buffer as u64,
            length: self.block as u64,
            offset: offset.cast_signed(),
            ..Request::default()
        };
        let list = [&raw const request];
        // SAFETY: the kernel copies the list and the request during the call. It uses this slot until the
        // operation has ended: `memory` is never moved, no reference into the slot is made meanwhile (it
        // is busy), and `drop` waits for all operations before it is freed.
        let submitted =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1_i64, list.as_ptr()) };
        if submitted != 1 {
            return Err(Error::new("io_submit", &self.path, &io::Error::last_os_error()));
        }
        if let Some(busy) = self.busy.get_mut(slot) {
            *busy = true;
        }
        Ok(())
    }

    /// Waits until at least one has ended, and returns the slots of all that have.
    pub fn ended(&mut self) -> Result<Vec<usize>, Error> {
        let in_progress = self.busy.iter().filter(|busy| **busy).count();
        let mut events = vec![Event::default(); in_progress.max(1)];
        // SAFETY: the kernel writes at most as many events as the list is long; no time limit.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                1_i64,
                events.len() as libc::c_long,
                events.as_mut_ptr(),
                std::ptr::null_mut::<libc::timespec>(),
            )
        };
        let count = usize::try_from(count)
            .map_err(|_| Error::new("io_getevents", &self.path, &io::Error::last_os_error()))?;
        events.truncate(count);
        for event in &events {
            if let Some(busy) = self.busy.get_mut(usize::try_from(event.data).unwrap_or(usize::MAX))
            {
                *busy = false;
            }
        }
        events.iter().map(|event| self.slot(event)).collect()
    }

    fn slot(&self, event: &Event) -> Result<usize, Error> {
        if event.result == self.block as i64 {
            return Ok(usize::try_from(event.data).unwrap_or(0));
        }
        let number = i32::try_from(-event.result).unwrap_or(0);
        if event.result < 0 {
            let cause = io::Error::from_raw_os_error(number);
            return Err(Error::new(self.direction.word(), &self.path, &cause));
        }
        Err(self.failed("a block reaches beyond the end"))
    }

    fn failed(&self, hint: impl Into<String>) -> Error {
        Error::unexpected(self.direction.word(), &self.path, hint)
    }
}

impl Drop for DirectIo {
    fn drop(&mut self) {
        // SAFETY: io_destroy waits until the kernel no longer uses `memory`, which is freed
        // afterwards.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernels_header() {
        assert_eq!(size_of::<Request>(), 64);
        assert_eq!(size_of::<Event>(), 32);
    }

    #[test]
    fn blocks_complete_in_their_slots_and_one_beyond_the_end_is_an_error() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        std::fs::write(file.path(), vec![7; 4 * ALIGNMENT]).unwrap();
        // A file system without direct I/O (some tmpfs) cannot be tested.
        let open = |direction| DirectIo::open(file.path(), direction, ALIGNMENT, 4);
        let Ok(mut reads) = open(Direction::Read) else { return };
        for slot in 0..4 {
            reads.start(slot, (slot * ALIGNMENT) as u64).unwrap();
        }
        // Only `ended` marks one as completed, so this one is refused without a race.
        assert!(reads.start(2, 0).unwrap_err().to_string().contains("in progress"));
        let mut ended = Vec::new();
        while ended.len() < 4 {
            ended.extend(reads.ended().unwrap());
        }
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2, 3]);
        let first = reads.memory.as_ptr().align_offset(ALIGNMENT);
        assert!(reads.memory[first..first + 4 * ALIGNMENT].iter().all(|byte| *byte == 7));
        reads.start(0, 1 << 30).unwrap();
        assert!(reads.ended().is_err());
        assert!(reads.start(9, 0).is_err());
        let mut writes = open(Direction::Write).unwrap();
        writes.start(0, ALIGNMENT as u64).unwrap();
        assert_eq!(writes.ended().unwrap(), [0]);
        let written = std::fs::read(file.path()).unwrap();
        let zeros = written.chunks(ALIGNMENT).map(|block| block.iter().all(|byte| *byte == 0));
        assert_eq!(zeros.collect::<Vec<_>>(), [false, true, false, false]);
    }
}
