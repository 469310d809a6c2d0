//! `echo`: sleeps, and repeats each line that it reads. Ends at the end of its input.

use std::io::{BufRead, Write};

use super::print;

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    print(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        print(out, &line.map_err(|cause| cause.to_string())?)?;
    }
    Ok(())
}
