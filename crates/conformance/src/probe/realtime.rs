//! `realtime`: requests the lowest real-time priority. Prints `granted` or `refused ERRNO`.

use std::io::Write;

use assay_kernel::process;

use super::{errno, print};

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    print(out, "ready")?;
    match process::become_real_time() {
        Ok(()) => print(out, "granted"),
        Err(error) => print(out, &format!("refused {}", errno(&error))),
    }
}
