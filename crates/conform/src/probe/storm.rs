//! `storm cpu=N`: two processes on one CPU that pass a byte to and fro, so that one of them falls
//! asleep and the other wakes up each time. Prints `partner PID` after `ready`: the case may move that
//! process to another group. `go MILLISECONDS` starts it for that long; then it prints `trips N`.
//!
//! It may leave the rest of its machine without any CPU, so it stops by itself, whatever becomes of the
//! case: the first process looks at the clock after every few trips, and the second ends with it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use assay_sys::kernel::fork::{Forked, exit_immediately, fork};
use assay_sys::kernel::process;
use rustix::io::{read, write};
use rustix::pipe::pipe;

use super::{Arguments, answer, number, print, shown};

/// Longest storm that is accepted.
const LONGEST: Duration = Duration::from_secs(30);
/// Trips between two looks at the clock: less than a millisecond.
const TRIPS: u64 = 16;

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    arguments.bind()?;
    let (there, to_partner) = pipe().map_err(shown)?;
    let (from_partner, back) = pipe().map_err(shown)?;
    let partner = match fork().map_err(shown)? {
        Forked::Parent(partner) => partner,
        Forked::Child => {
            drop((to_partner, from_partner));
            return_bytes(&there, &back)
        }
    };
    drop((there, back));
    print(out, "ready")?;
    print(out, &format!("partner {partner}"))?;
    answer(out, |words, _| {
        let ["go", milliseconds] = words else { return Ok(None) };
        let time = Duration::from_millis(number(milliseconds)?);
        let trips = || send_bytes(&to_partner, &from_partner, Instant::now() + time);
        Ok((time <= LONGEST).then(|| format!("trips {}", trips())))
    })
}

/// The second process: returns each byte until the first one is gone.
fn return_bytes(from: &OwnedFd, to: &OwnedFd) -> ! {
    // A refusal shows no harm: the pipes end with the first process, too.
    let _ = process::die_with_parent();
    let mut byte = [0_u8];
    while matches!(read(from, &mut byte), Ok(1)) && write(to, &byte).is_ok() {}
    exit_immediately(0)
}

/// Sends a byte and waits for it until the time is up or the partner is gone; returns how often.
fn send_bytes(to: &OwnedFd, from: &OwnedFd, end: Instant) -> u64 {
    let (mut byte, mut trips) = ([0_u8], 0);
    while trips % TRIPS != 0 || Instant::now() < end {
        if write(to, &byte).is_err() || !matches!(read(from, &mut byte), Ok(1)) {
            break;
        }
        trips += 1;
    }
    trips
}
