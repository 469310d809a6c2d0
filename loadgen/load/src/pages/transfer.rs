//! Reads or writes the whole file once, with one or more threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};
use assay_sys::kernel::signal;

use super::content::Content;
use super::test_file::{OpenMode, TestFile, ended};
use crate::failure::Failure;
use crate::parallel_region::ParallelRegion;

/// Parameters of the transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transfer {
    /// File size in bytes.
    pub(super) size: u64,
    /// Bytes per read or write; the last one may be shorter.
    pub(super) block: u64,
    pub(super) threads: usize,
    pub(super) seed: u64,
}

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Transfer {
    /// Reads or writes everything; each thread handles its part from start to end, with its own
    /// descriptor and block. Returns the number of bytes; fewer after a signal.
    pub(super) fn run(
        &self,
        direction: Direction,
        mode: OpenMode,
        content: Content,
        test_file: &TestFile,
    ) -> Result<u64, Failure> {
        let region = ParallelRegion::new(self.threads);
        let blocks = self.size.div_ceil(self.block) as usize;
        let files =
            (0..region.size()).map(|_| test_file.open(mode)).collect::<io::Result<Vec<File>>>();
        let files = files.map_err(|cause| ended("open", &test_file.path, &cause))?;
        let moved = region.each(files, |worker, file| {
            let mut memory = Pages::<u8>::zeroed(self.block as usize, HugePages::Never)?;
            if direction == Direction::Write {
                content.noise(&mut memory);
            }
            let mut moved = 0;
            for number in worker.share(blocks) {
                if signal::interrupted_by().is_some() {
                    break;
                }
                let offset = number as u64 * self.block;
                let length = self.block.min(self.size - offset) as usize;
                transfer_block(
                    direction,
                    content,
                    &file,
                    offset,
                    &mut memory[..length],
                    test_file,
                )?;
                moved += length as u64;
            }
            Ok(moved)
        });
        moved.into_iter().sum()
    }
}

/// Transfers one block.
fn transfer_block(
    direction: Direction,
    content: Content,
    file: &File,
    offset: u64,
    block: &mut [u8],
    test_file: &TestFile,
) -> Result<(), Failure> {
    match direction {
        Direction::Write => {
            content.number(block, offset);
            file.write_all_at(block, offset)
                .map_err(|cause| ended("write", &test_file.path, &cause))
        }
        Direction::Read => {
            file.read_exact_at(block, offset)
                .map_err(|cause| ended("read", &test_file.path, &cause))?;
            match content.first_wrong(block, offset) {
                None => Ok(()),
                Some(page) => Err(Failure::Wrong(format!(
                    "page {page} of {} does not have the content that was written",
                    test_file.path.display()
                ))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_and_read_whole_by_any_number_of_threads() {
        let directory = tempfile::tempdir().unwrap();
        let content = Content { seed: 9, generation: 0 };
        for threads in [1, 3, 40] {
            let test_file = TestFile::in_directory(directory.path()).unwrap();
            let transfer = Transfer { size: 9 * 4096, block: 2 * 4096, threads, seed: 9 };
            let run = |direction| transfer.run(direction, OpenMode::Buffered, content, &test_file);
            assert_eq!(run(Direction::Write).unwrap(), 9 * 4096);
            assert_eq!(run(Direction::Read).unwrap(), 9 * 4096);
            let newer = Content { generation: 1, ..content };
            let failure =
                transfer.run(Direction::Read, OpenMode::Buffered, newer, &test_file).unwrap_err();
            assert!(failure.to_string().contains("page 0"), "{failure}");
            assert_eq!(failure.exit_code(), 5);
        }
    }

    #[test]
    fn a_truncated_file_ends_the_load_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let test_file = TestFile::in_directory(directory.path()).unwrap();
        let transfer = Transfer { size: 8192, block: 4096, threads: 1, seed: 1 };
        let content = Content { seed: 1, generation: 0 };
        let failure =
            transfer.run(Direction::Read, OpenMode::Buffered, content, &test_file).unwrap_err();
        assert!(failure.to_string().contains("assay-pages"), "{failure}");
    }
}
