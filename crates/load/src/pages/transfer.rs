//! Reading or writing the whole file once, by one or more threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use assay_kernel::anonymous_memory::{HugePages, Pages};
use assay_kernel::signal;

use super::content::Content;
use super::place::{Place, Way, ended};
use crate::failure::Failure;
use crate::parallel_region::ParallelRegion;

/// What is moved, and by how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transfer {
    /// Bytes of the file.
    pub(super) size: u64,
    /// Bytes of a read or write; the last one may be shorter.
    pub(super) block: u64,
    pub(super) threads: usize,
    pub(super) seed: u64,
}

/// In which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Transfer {
    /// Reads or writes everything, each thread its part from its begin to its end, with a
    /// descriptor and a block of its own. Returns how many bytes; fewer after a signal.
    pub(super) fn go(
        &self,
        direction: Direction,
        way: Way,
        content: Content,
        place: &Place,
    ) -> Result<u64, Failure> {
        let team = ParallelRegion::of(self.threads);
        let blocks = self.size.div_ceil(self.block) as usize;
        let files = (0..team.size()).map(|_| place.open(way)).collect::<io::Result<Vec<File>>>();
        let files = files.map_err(|cause| ended("open", &place.path, &cause))?;
        let moved = team.each(files, |worker, file| {
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
                one(direction, content, &file, offset, &mut memory[..length], place)?;
                moved += length as u64;
            }
            Ok(moved)
        });
        moved.into_iter().sum()
    }
}

/// One block.
fn one(
    direction: Direction,
    content: Content,
    file: &File,
    offset: u64,
    block: &mut [u8],
    place: &Place,
) -> Result<(), Failure> {
    match direction {
        Direction::Write => {
            content.number(block, offset);
            file.write_all_at(block, offset).map_err(|cause| ended("write", &place.path, &cause))
        }
        Direction::Read => {
            file.read_exact_at(block, offset)
                .map_err(|cause| ended("read", &place.path, &cause))?;
            match content.first_wrong(block, offset) {
                None => Ok(()),
                Some(page) => Err(Failure::Wrong(format!(
                    "page {page} of {} is not the one that was written",
                    place.path.display()
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
            let place = Place::in_directory(directory.path()).unwrap();
            let transfer = Transfer { size: 9 * 4096, block: 2 * 4096, threads, seed: 9 };
            let go = |direction| transfer.go(direction, Way::Buffered, content, &place);
            assert_eq!(go(Direction::Write).unwrap(), 9 * 4096);
            assert_eq!(go(Direction::Read).unwrap(), 9 * 4096);
            let newer = Content { generation: 1, ..content };
            let failure = transfer.go(Direction::Read, Way::Buffered, newer, &place).unwrap_err();
            assert!(failure.to_string().contains("page 0"), "{failure}");
            assert_eq!(failure.exit_code(), 5);
        }
    }

    #[test]
    fn a_file_that_is_too_short_ends_the_load_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::in_directory(directory.path()).unwrap();
        let transfer = Transfer { size: 8192, block: 4096, threads: 1, seed: 1 };
        let content = Content { seed: 1, generation: 0 };
        let failure = transfer.go(Direction::Read, Way::Buffered, content, &place).unwrap_err();
        assert!(failure.to_string().contains("assay-pages"), "{failure}");
    }
}
