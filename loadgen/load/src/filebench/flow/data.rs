//! Operations that transfer data.

use rustix::fs::{SeekFrom, seek};
use rustix::io::{self, Errno};

use super::super::workload::Operation;
use super::worker::{Flow, Worker};

impl Worker<'_> {
    fn io_failed(&mut self, operation: &Operation, slot: usize, verb: &str, errno: Errno) -> Flow {
        let path = self.slots.at(slot).entry.map(|entry| self.path(entry)).unwrap_or_default();
        Err(self.refused(operation, verb, &path, errno))
    }

    /// Calls `work` with the file of a slot and a piece of the buffer, measures the time, and
    /// counts the returned bytes.
    fn transfer(
        &mut self,
        operation: &Operation,
        slot: usize,
        bytes: u64,
        verb: &str,
        work: impl FnOnce(&std::os::fd::OwnedFd, &mut [u8]) -> Result<u64, Errno>,
    ) -> Result<u64, super::worker::Stop> {
        let range = if bytes == 0 { 0..0 } else { self.buffer(operation, bytes)? };
        let Some(file) = self.slots.at(slot).file.take() else { return Ok(0) };
        let began = self.began();
        let done = work(&file, self.bytes(range));
        self.count(operation, began, *done.as_ref().unwrap_or(&0));
        self.slots.at(slot).file = Some(file);
        match done {
            Ok(bytes) => Ok(bytes),
            Err(errno) => self.io_failed(operation, slot, verb, errno).map(|()| 0),
        }
    }

    /// Reads in pieces until the end of the file.
    pub(super) fn read_whole_file(&mut self, operation: &Operation) -> Flow {
        let (slot, size) = self.ready_slot(operation)?;
        let piece = match operation.iosize.get() {
            0 => size,
            piece => piece,
        };
        self.transfer(operation, slot, piece, "read", |file, buffer| {
            seek(file, SeekFrom::Start(0))?;
            let mut bytes = 0;
            loop {
                match io::read(file, &mut *buffer)? {
                    0 => return Ok(bytes),
                    read => bytes += read as u64,
                }
            }
        })?;
        Ok(())
    }

    /// Writes as many bytes as the file of `srcfd` is defined to have.
    pub(super) fn write_whole_file(&mut self, operation: &Operation) -> Flow {
        let (slot, size) = self.ready_slot(operation)?;
        let piece = match operation.iosize.get() {
            0 => size,
            piece => piece,
        };
        let source = self.slots.at(operation.srcfd).entry;
        if source.is_none() && operation.srcfd != 0 {
            let what = format!("has no file in srcfd {}", operation.srcfd);
            return Err(self.wrong(operation, &what, "open one into it before"));
        }
        let size = source.map_or(size, |(set, at)| self.set(set).nodes[at].size);
        let corrected = self.run.corrected;
        self.transfer(operation, slot, piece, "write", |file, buffer| {
            write_pieces(size, piece, corrected, |bytes| {
                let written = io::write(file, &buffer[..bytes as usize])?;
                // A short write means that the disk is nearly full.
                if written as u64 == bytes { Ok(()) } else { Err(Errno::NOSPC) }
            })
        })?;
        Ok(())
    }

    fn append(&mut self, operation: &Operation, bytes: u64) -> Flow {
        let (slot, _) = self.ready_slot(operation)?;
        let bytes = self.require_nonzero(operation, bytes)?;
        self.transfer(operation, slot, bytes, "append to", |file, buffer| {
            seek(file, SeekFrom::End(0))?;
            let written = io::write(file, buffer)? as u64;
            if written == bytes { Ok(written) } else { Err(Errno::NOSPC) }
        })?;
        Ok(())
    }

    /// Rejects an operation of 0 bytes.
    fn require_nonzero(
        &self,
        operation: &Operation,
        bytes: u64,
    ) -> Result<u64, super::worker::Stop> {
        if bytes > 0 {
            return Ok(bytes);
        }
        Err(self.wrong(
            operation,
            "moves 0 bytes",
            "give it an iosize above 0 (min= of a variable)",
        ))
    }

    pub(super) fn append_file(&mut self, operation: &Operation) -> Flow {
        self.append(operation, operation.iosize.get())
    }

    /// Appends 0 to `iosize - 1` bytes; what scripts call the mean is the upper bound.
    pub(super) fn append_file_rand(&mut self, operation: &Operation) -> Flow {
        let bound = self.require_nonzero(operation, operation.iosize.get())?;
        match self.own.below(bound, 1) {
            0 => {
                let began = self.began();
                self.count(operation, began, 0);
                Ok(())
            }
            bytes => self.append(operation, bytes),
        }
    }

    /// A random offset for `bytes` in a file of `size`.
    fn offset(
        &mut self,
        operation: &Operation,
        size: u64,
        bytes: u64,
    ) -> Result<u64, super::worker::Stop> {
        if bytes > size {
            let what = format!("moves {bytes} bytes at once in a file of {size}");
            return Err(self.wrong(
                operation,
                &what,
                "lower iosize, or raise the size of the file",
            ));
        }
        Ok(self.own.below(size, bytes))
    }

    pub(super) fn read(&mut self, operation: &Operation) -> Flow {
        let bytes = self.require_nonzero(operation, operation.iosize.get())?;
        let (slot, size) = self.ready_slot(operation)?;
        let offset =
            if operation.random { Some(self.offset(operation, size, bytes)?) } else { None };
        let read = self.transfer(operation, slot, bytes, "read", |file, buffer| {
            let read = match offset {
                Some(offset) => io::pread(file, buffer, offset)?,
                None => io::read(file, buffer)?,
            };
            Ok(read as u64)
        })?;
        if let (0, Some(file)) = (read, &self.slots.at(slot).file) {
            // The next read starts at the beginning of the file again.
            let _ = seek(file, SeekFrom::Start(0));
        }
        Ok(())
    }

    pub(super) fn write(&mut self, operation: &Operation) -> Flow {
        let bytes = self.require_nonzero(operation, operation.iosize.get())?;
        let (slot, size) = self.ready_slot(operation)?;
        let offset =
            if operation.random { Some(self.offset(operation, size, bytes)?) } else { None };
        self.transfer(operation, slot, bytes, "write", |file, buffer| {
            match offset {
                Some(offset) => io::pwrite(file, buffer, offset)?,
                None => io::write(file, buffer)?,
            };
            Ok(bytes)
        })?;
        Ok(())
    }

    pub(super) fn aio_write(&mut self, operation: &Operation) -> Flow {
        let bytes = self.require_nonzero(operation, operation.iosize.get())?;
        let (slot, size) = self.ready_slot(operation)?;
        let offset = self.offset(operation, size, bytes)?;
        let began = self.began();
        if let (Some(file), Some(aio)) = (&self.slots.at(slot).file, &self.aio) {
            match file.try_clone() {
                Ok(copy) => aio.write(copy, offset, bytes as usize),
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::MFILE);
                    return self.io_failed(operation, slot, "write", errno);
                }
            }
        }
        self.count(operation, began, bytes);
        Ok(())
    }

    pub(super) fn aio_wait(&mut self, operation: &Operation) -> Flow {
        let began = self.began();
        let done = self.aio.as_ref().map_or(Ok(()), super::aio::Aio::wait);
        self.count(operation, began, 0);
        match done {
            Ok(()) => Ok(()),
            Err(errno) => {
                Err(self.refused(operation, "write", "files of aiowrite".as_ref(), errno))
            }
        }
    }
}

/// Writes a whole file in pieces. filebench computes the next piece from the start of the previous
/// one, so that a file longer than a piece is filled up to whole pieces; `corrected` does not.
fn write_pieces(
    size: u64,
    piece: u64,
    corrected: bool,
    mut write: impl FnMut(u64) -> Result<(), Errno>,
) -> Result<u64, Errno> {
    let (mut at, mut bytes) = (0, 0);
    let mut next = size.min(piece);
    while at < size {
        write(next)?;
        bytes += next;
        if corrected {
            at += next;
            next = (size - at).min(piece);
        } else {
            next = (size - at).min(piece);
            at += next;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn written(size: u64, piece: u64, corrected: bool) -> u64 {
        write_pieces(size, piece, corrected, |_| Ok(())).unwrap()
    }

    #[test]
    fn a_file_longer_than_a_piece_is_filled_up_to_whole_pieces_as_in_filebench() {
        assert_eq!(written(3 * MIB / 2, MIB, false), 2 * MIB);
        assert_eq!(written(5 * MIB / 2, MIB, false), 3 * MIB);
        assert_eq!(written(100_000, MIB, false), 100_000);
        assert_eq!(written(0, MIB, false), 0);
    }

    #[test]
    fn corrected_it_is_written_to_its_exact_length() {
        for size in [0, 1, 100_000, MIB, 3 * MIB / 2, 5 * MIB / 2 + 7] {
            assert_eq!(written(size, MIB, true), size);
        }
    }
}
