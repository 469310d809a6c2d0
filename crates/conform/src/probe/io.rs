//! `io file=PATH size=BYTES block=BYTES threads=N pace=OPS`: reads blocks at random places of a
//! file, past the page cache. `read N` makes one thread read so many and says `did N`. `go` lets
//! all threads read on and on, each at most `pace` blocks a second where that is not 0; then
//! `count` is answered with how many blocks all of them have read, `count N`.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use super::{Words, life, say};

/// Direct I/O wants its memory at a multiple of the block size of the device, at most a page.
const ALIGNMENT: usize = 4096;

/// What one thread reads with.
struct Reader {
    file: Arc<File>,
    buffer: Vec<u8>,
    block: usize,
    blocks: u64,
    place: u64,
}

impl Reader {
    fn new(file: &Arc<File>, size: u64, block: usize, seed: u64) -> Self {
        Self {
            file: Arc::clone(file),
            buffer: vec![0; block + ALIGNMENT],
            block,
            blocks: (size / block as u64).max(1),
            place: seed,
        }
    }

    fn read(&mut self) -> Result<(), String> {
        // Knuth's multiplier: any sequence will do that no read-ahead foresees.
        self.place = self.place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let offset = (self.place >> 33) % self.blocks * self.block as u64;
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let part = self.buffer.get_mut(start..start + self.block).ok_or("no aligned memory")?;
        self.file.read_exact_at(part, offset).map_err(|cause| cause.to_string())
    }
}

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let path = words.text("file").ok_or("file=PATH is missing")?;
    let size: u64 = words.number("size", 1 << 20)?;
    let block: usize = words.number("block", 4096)?;
    let (threads, pace) = (words.number::<u64>("threads", 1)?, words.number::<u32>("pace", 0)?);
    let direct = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path);
    let file = Arc::new(file.map_err(|cause| format!("{path}: {cause}"))?);
    let end = Instant::now() + life(words)?;
    let count = Arc::new(AtomicU64::new(0));
    say(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        match line.split_once(' ') {
            None if line == "go" => {
                for seed in 1..=threads {
                    let reader = Reader::new(&file, size, block, seed);
                    let count = Arc::clone(&count);
                    std::thread::spawn(move || read_on(reader, &count, pace, end));
                }
                say(out, "going")?;
            }
            None if line == "count" => {
                say(out, &format!("count {}", count.load(Ordering::Relaxed)))?;
            }
            Some(("read", number)) => {
                let number: u64 = number.parse().map_err(|_| format!("`{line}`: how many?"))?;
                let mut reader = Reader::new(&file, size, block, 1);
                (0..number).try_for_each(|_| reader.read())?;
                say(out, &format!("did {number}"))?;
            }
            _ => return Err(format!("`{line}` is no order")),
        }
    }
    Ok(())
}

/// Ends with the first read that fails, so that a broken disk shows as a count that stands still.
fn read_on(mut reader: Reader, count: &AtomicU64, pace: u32, end: Instant) {
    let turn = Duration::from_secs(1).checked_div(pace);
    let mut next = Instant::now();
    while Instant::now() < end && reader.read().is_ok() {
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(turn) = turn {
            next += turn;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_where_they_are_whole() {
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), vec![1; 10_000]).unwrap();
        let file = Arc::new(File::open(place.path()).unwrap());
        let mut reader = Reader::new(&file, 10_000, 4096, 1);
        for _ in 0..20 {
            reader.read().unwrap();
        }
        let mut beyond = Reader::new(&file, 1 << 30, 4096, 1);
        assert!((0..20).any(|_| beyond.read().is_err()));
    }
}
