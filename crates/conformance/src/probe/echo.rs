//! `echo`: sleeps, and answers each line that it hears with the same line. Ends when there is
//! nobody to hear any more.

use std::io::{BufRead, Write};

use super::say;

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    say(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        say(out, &line.map_err(|cause| cause.to_string())?)?;
    }
    Ok(())
}
