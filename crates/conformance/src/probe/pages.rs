//! `pages bytes=N`: allocates memory, touches every page and keeps it until the end of its input.

use std::io::{Read, Write};

use super::{Arguments, print};

/// The smallest page size of any Linux architecture.
const PAGE: usize = 4096;

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let bytes: usize = arguments.number("bytes", 1 << 20)?;
    let mut memory = vec![0_u8; bytes];
    for place in memory.iter_mut().step_by(PAGE) {
        *place = std::hint::black_box(1);
    }
    print(out, "ready")?;
    std::io::stdin().lock().read_to_end(&mut Vec::new()).map_err(|cause| cause.to_string())?;
    std::hint::black_box(&memory);
    Ok(())
}
