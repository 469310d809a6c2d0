//! `memory cpu=LIST`: allocates memory and reads files through the page cache, on these CPUs or on
//! any. Commands:
//!
//! - `touch BYTES [SECONDS]` writes to every page of that much new memory, until the time is up,
//!   and prints `touched BYTES NANOSECONDS`;
//! - `again` writes once more to every page that it holds, and prints the same;
//! - `drop` releases all memory and prints `dropped`;
//! - `read BYTES FILE [OFFSET]` reads a part of a file, keeps it open, and prints `read BYTES
//!   NANOSECONDS`. The page cache of a disk is dropped when its last user closes it;
//! - `write BYTES FILE OFFSET` writes that much there, waits until it is on the disk, and prints `wrote BYTES
//!   NANOSECONDS`.
//!
//! Pages are small, so that numbers change in steps of 4 KiB on every host.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::{Arguments, number, serve, shown};

const PAGE: usize = 4096;

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    arguments.bind()?;
    rustix::thread::disable_transparent_huge_pages(true).map_err(shown)?;
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut files = Vec::new();
    let end = arguments.lifetime()?;
    serve(out, |words, _| {
        let began = Instant::now();
        let (verb, bytes) = match words {
            ["touch", bytes] => ("touched", touch(&mut held, number(bytes)?, end)),
            ["touch", bytes, seconds] => {
                let limit = Duration::from_secs(number(seconds)?);
                ("touched", touch(&mut held, number(bytes)?, limit))
            }
            ["again"] => ("touched", held.iter_mut().map(|memory| write(memory, began, end)).sum()),
            ["drop"] => {
                held.clear();
                return Ok(Some("dropped".to_owned()));
            }
            ["read", bytes, file] => ("read", read(&mut files, file, 0, number(bytes)?)?),
            ["read", bytes, file, offset] => {
                ("read", read(&mut files, file, number(offset)?, number(bytes)?)?)
            }
            ["write", bytes, file, offset] => {
                ("wrote", store(file, number(offset)?, number(bytes)?)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(format!("{verb} {bytes} {}", began.elapsed().as_nanos())))
    })
}

/// Newly mapped memory has no pages yet; the first write to each allocates it.
fn touch(held: &mut Vec<Vec<u8>>, bytes: usize, limit: Duration) -> usize {
    let mut memory = vec![0; bytes];
    let done = write(&mut memory, Instant::now(), limit);
    held.push(memory);
    done
}

/// Writes a different value into every page, so that no two are identical, until the time is up.
/// Returns the number of bytes written.
fn write(memory: &mut [u8], began: Instant, limit: Duration) -> usize {
    let mut done = 0;
    for (page, number) in memory.chunks_mut(PAGE).zip(1_u64..) {
        for (place, byte) in page.iter_mut().zip(number.to_le_bytes()) {
            *place = black_box(byte);
        }
        done += page.len();
        if began.elapsed() > limit {
            break;
        }
    }
    done
}

fn read(files: &mut Vec<File>, file: &str, offset: u64, bytes: usize) -> Result<usize, String> {
    let wrong = |cause: std::io::Error| format!("{file}: {cause}");
    let mut source = File::open(file).map_err(wrong)?;
    source.seek(SeekFrom::Start(offset)).map_err(wrong)?;
    let mut buffer = vec![0; 128 << 10];
    let mut done = 0;
    while done < bytes {
        let part = buffer.len().min(bytes - done);
        match source.read(&mut buffer[..part]).map_err(wrong)? {
            0 => break,
            read => done += read,
        }
    }
    files.push(source);
    Ok(done)
}

fn store(file: &str, offset: u64, bytes: usize) -> Result<usize, String> {
    let wrong = |cause: std::io::Error| format!("{file}: {cause}");
    let disk = OpenOptions::new().write(true).open(file).map_err(wrong)?;
    disk.write_all_at(&vec![b'1'; bytes], offset).map_err(wrong)?;
    disk.sync_all().map_err(wrong)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_written_unless_time_is_up() {
        let mut held = Vec::new();
        assert_eq!(touch(&mut held, 10 * PAGE, Duration::from_secs(60)), 10 * PAGE);
        assert!(held[0].chunks(PAGE).zip(1_u8..).all(|(page, number)| page[0] == number));
        assert_eq!(touch(&mut held, 10 * PAGE, Duration::ZERO), PAGE);
    }

    #[test]
    fn a_file_is_read_up_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 300_000]).unwrap();
        let mut files = Vec::new();
        let path = file.path().to_str().unwrap();
        assert_eq!(read(&mut files, path, 0, 1 << 20), Ok(300_000));
        assert_eq!(read(&mut files, path, 299_000, 4096), Ok(1000));
        assert!(read(&mut files, "/nonexistent/file", 0, 1).unwrap_err().contains("nonexistent"));
    }

    #[test]
    fn as_much_as_asked_for_is_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(store(file.path().to_str().unwrap(), 4096, 5000), Ok(5000));
        let written = std::fs::read(file.path()).unwrap();
        assert_eq!(written[4096..], [b'1'; 5000]);
        assert_eq!(written[..4096], [0; 4096]);
    }
}
