//! `pages bytes=N`: allocates memory, touches every page and keeps it. Ends when there is nobody
//! to hear it any more.

use std::io::{Read, Write};

use super::{Words, say};

/// The smallest page of any architecture that Linux runs on.
const PAGE: usize = 4096;

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let bytes: usize = words.number("bytes", 1 << 20)?;
    let mut memory = vec![0_u8; bytes];
    for place in memory.iter_mut().step_by(PAGE) {
        *place = std::hint::black_box(1);
    }
    say(out, "ready")?;
    std::io::stdin().lock().read_to_end(&mut Vec::new()).map_err(|cause| cause.to_string())?;
    std::hint::black_box(&memory);
    Ok(())
}
