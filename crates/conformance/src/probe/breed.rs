//! `breed lines=N`: N lines of processes in which each makes its successor and ends, as fast as
//! it can: what has to be killed is never there any more when a list of it has been read.

use std::io::Write;
use std::time::Instant;

use assay_kernel::fork::{Forked, end_at_once, forget_children, fork};

use super::{Words, life, say};

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let lines: u32 = words.number("lines", 2)?;
    let end = Instant::now() + life(words)?;
    forget_children();
    for _ in 0..lines {
        if let Forked::Child = fork().map_err(|error| error.to_string())? {
            go_on(end);
        }
    }
    say(out, "ready")?;
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    Ok(())
}

fn go_on(end: Instant) -> ! {
    loop {
        match fork() {
            Ok(Forked::Parent(_)) => end_at_once(0),
            Ok(Forked::Child) if Instant::now() < end => {}
            // A refused fork ends the line: there is nothing that would follow it.
            Ok(Forked::Child) | Err(_) => end_at_once(0),
        }
    }
}
