//! Writing to a pipe or terminal whose reader may have stopped reading (a full pipe, Ctrl-S). Such a write waits in poll(2), where
//! signals are noticed, so that neither the end of a command nor a restore waits for a reader.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::kernel::signal;

/// How long data wait for their reader after a signal that asks for the end.
const AFTER_SIGNAL: Duration = Duration::from_secs(1);

/// Writes all bytes, however long their reader takes; after a termination signal, for a second at most.
///
/// # Errors
/// The stream fails, or nobody has read when the process was asked to end.
pub fn write_data(to: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let tick = Duration::from_millis(100);
    write_while(to.as_fd(), bytes, tick, &|blocked| {
        signal::interrupted_by().is_none() || blocked < AFTER_SIGNAL
    })
}

/// Writes all bytes, if their reader makes room for them within `patience`.
///
/// # Errors
/// The stream fails, or is blocked: the rest of the bytes is left out.
pub fn write_message(to: impl AsFd, bytes: &[u8], patience: Duration) -> io::Result<()> {
    let tick = patience.min(Duration::from_millis(20));
    write_while(to.as_fd(), bytes, tick, &|blocked| blocked < patience)
}

/// Writes as long as there is room, or `goes_on` after the time without any.
fn write_while(
    to: BorrowedFd<'_>,
    mut bytes: &[u8],
    tick: Duration,
    goes_on: &dyn Fn(Duration) -> bool,
) -> io::Result<()> {
    /// What a pipe takes at once if poll(2) says that it has room (PIPE_BUF, pipe(7)).
    const PIECE: usize = 4096;
    let mut blocked: Option<Instant> = None;
    while !bytes.is_empty() {
        let written = match has_room(to, tick)? {
            true => rustix::io::write(to, &bytes[..bytes.len().min(PIECE)]),
            false => Err(Errno::AGAIN),
        };
        match written {
            Ok(count) => (bytes, blocked) = (&bytes[count..], None),
            Err(Errno::AGAIN | Errno::INTR) => {
                if !goes_on(blocked.get_or_insert_with(Instant::now).elapsed()) {
                    return Err(io::Error::new(ErrorKind::TimedOut, "nobody reads it"));
                }
            }
            Err(cause) => return Err(cause.into()),
        }
    }
    Ok(())
}

fn has_room(to: BorrowedFd<'_>, within: Duration) -> io::Result<bool> {
    let within = Timespec { tv_sec: 0, tv_nsec: within.subsec_nanos().into() };
    match poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_nobody_reads_is_left_out_and_the_rest_is_complete() {
        let (mut reader, writer) = io::pipe().unwrap();
        let patience = Duration::from_millis(30);
        let text = vec![b'x'; 1000];
        let written =
            (0..1000).take_while(|_| write_message(&writer, &text, patience).is_ok()).count();
        assert!((30..200).contains(&written), "{written} KB fill a pipe");
        let begun = Instant::now();
        assert_eq!(
            write_message(&writer, &text, patience).unwrap_err().kind(),
            ErrorKind::TimedOut
        );
        assert!(begun.elapsed() >= patience);
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all.iter().filter(|byte| **byte == b'y').count()
        });
        write_data(&writer, &vec![b'y'; 300_000]).unwrap();
        drop(writer);
        assert_eq!(reading.join().unwrap(), 300_000);
    }

    #[test]
    fn a_closed_pipe_is_an_error_at_once() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(write_data(&writer, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
