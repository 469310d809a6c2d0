//! The export of a run while it is executed.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_record::run_folder::RunFolder;
use assay_report::export::{Error, Follower};
use assay_sys::kernel::signal;

use crate::exporting::follow_lines;

/// How long the reader of a live export may read nothing at the end of its run.
const READER: Duration = Duration::from_secs(10);

/// How often its end is looked for.
const TICK: Duration = Duration::from_millis(50);

/// An export of a run as JSON lines from a separate thread while it is executed.
#[derive(Debug)]
pub(crate) struct LiveExport {
    result: Receiver<Result<(), Error>>,
    over: Arc<AtomicBool>,
    /// Bytes written so far.
    written: Arc<AtomicU64>,
}

/// Counts what is written.
struct Counted<W> {
    out: W,
    written: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written.fetch_add(count as u64, Ordering::AcqRel);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl LiveExport {
    /// Starts the thread.
    #[must_use]
    pub(crate) fn start(run: &RunFolder, out: impl Write + Send + 'static) -> Self {
        let (over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (follower, stop) = (Follower::from_folder(run), Arc::clone(&over));
        let mut out = Counted { out, written: Arc::clone(&written) };
        let (sender, result) = channel();
        std::thread::spawn(move || {
            let ended = follow_lines(follower, &mut out, &|| stop.load(Ordering::Acquire));
            // Nobody waits for it any more if it took too long.
            let _ = sender.send(ended);
        });
        Self { result, over, written }
    }

    /// Writes the remaining rows. If nobody reads them for 10 seconds, or at Ctrl-C, the rest is left out.
    ///
    /// # Errors
    /// The run cannot be read, or the writer failed or did not end.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let once = signal::interrupted_by().is_some();
        self.finish_within(READER, &|| match once {
            true => signal::interrupted_twice(),
            false => signal::interrupted_by().is_some(),
        })
    }

    fn finish_within(self, patience: Duration, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        self.over.store(true, Ordering::Release);
        let written = || self.written.load(Ordering::Acquire);
        let (mut last, mut progress) = (written(), Instant::now());
        loop {
            match self.result.recv_timeout(TICK) {
                Ok(result) => return result,
                // A panic of the thread was printed by its hook.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if written() != last {
                (last, progress) = (written(), Instant::now());
            }
            if stop() || progress.elapsed() >= patience {
                let why = "its reader does not read, and the rest is left out; `assay report --as jsonl` writes \
                           all of it";
                return Err(Error::Write("the live export".to_owned(), why.to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that waits until the sender of its channel is gone.
    struct Blocked(Receiver<()>);

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_does_not_read_ends_no_later_than_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let run =
            RunFolder::create(&dir.path().join("run"), assay_sys::files::Trust::Checked).unwrap();
        run.write_text("events.jsonl", "{\"time_ns\": 1}\n").unwrap();
        let limits: [(Duration, &dyn Fn() -> bool); 2] = [(TICK, &|| false), (READER, &|| true)];
        for (patience, stop) in limits {
            let (_reader, blocked) = channel();
            let live = LiveExport::start(&run, Blocked(blocked));
            let error = live.finish_within(patience, stop).unwrap_err().to_string();
            assert!(error.contains("its reader does not read"), "{error}");
        }
        let (reader, blocked) = channel();
        let live = LiveExport::start(&run, Blocked(blocked));
        drop(reader);
        live.finish_within(READER, &|| false).unwrap();
    }
}
