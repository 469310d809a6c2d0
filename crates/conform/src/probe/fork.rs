//! `fork count=N`: waits for a line, then forks children until there are N or the kernel refuses.
//! Prints `forked K` and `refused ERRNO`, or `forked N` and `all`. The children sleep until they
//! are killed; each further line is another attempt.
//!
//! `breed lines=N`: N lines of processes in which each forks its successor and exits, as fast as
//! possible: a list of its processes is outdated by the time it has been read.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_sys::kernel::Error;
use assay_sys::kernel::fork::{Forked, auto_reap_children, exit_immediately, fork};

use super::{Arguments, print, refused_or, serve, shown};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let (count, lifetime) = (arguments.number("count", 1)?, arguments.lifetime()?);
    auto_reap_children();
    serve(out, |_, _| {
        let (forked, refused) = fork_up_to(count, lifetime);
        Ok(Some(format!("forked {forked}\n{}", refused_or(refused, "all"))))
    })
}

fn fork_up_to(count: u32, lifetime: Duration) -> (u32, Result<(), Error>) {
    for forked in 0..count {
        match fork() {
            Ok(Forked::Parent(_)) => {}
            Ok(Forked::Child) => {
                std::thread::sleep(lifetime);
                exit_immediately(0);
            }
            Err(error) => return (forked, Err(error)),
        }
    }
    (count, Ok(()))
}

pub(super) fn breed(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let lines: u32 = arguments.number("lines", 2)?;
    let end = Instant::now() + arguments.lifetime()?;
    auto_reap_children();
    for _ in 0..lines {
        if let Forked::Child = fork().map_err(shown)? {
            go_on(end);
        }
    }
    print(out, "ready")?;
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    Ok(())
}

fn go_on(end: Instant) -> ! {
    loop {
        match fork() {
            Ok(Forked::Parent(_)) => exit_immediately(0),
            Ok(Forked::Child) if Instant::now() < end => {}
            // A refused fork ends the line: there is no successor.
            Ok(Forked::Child) | Err(_) => exit_immediately(0),
        }
    }
}
