//! `realtime`: asks for the lowest real-time priority. Says `granted`, or `refused ERRNO`.

use std::io::Write;

use assay_kernel::process;

use super::{errno, say};

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    say(out, "ready")?;
    match process::become_real_time() {
        Ok(()) => say(out, "granted"),
        Err(error) => say(out, &format!("refused {}", errno(&error))),
    }
}
