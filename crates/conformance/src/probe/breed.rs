//! `breed lines=N`: N lines of processes in which each forks its successor and exits, as fast as
//! possible: a list of its processes is outdated by the time it has been read.

use std::io::Write;
use std::time::Instant;

use assay_kernel::fork::{Forked, auto_reap_children, exit_immediately, fork};

use super::{Arguments, lifetime, print};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let lines: u32 = arguments.number("lines", 2)?;
    let end = Instant::now() + lifetime(arguments)?;
    auto_reap_children();
    for _ in 0..lines {
        if let Forked::Child = fork().map_err(|error| error.to_string())? {
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
