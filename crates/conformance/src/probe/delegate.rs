//! `delegate`: makes its group the root of a cgroup namespace, then writes to files on command, `write PATH TEXT`,
//! and prints `done` or `refused ERRNO`.

use std::io::{BufRead, Write};

use assay_kernel::{Root, namespace};

use super::{errno, print};

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    namespace::own_groups().map_err(|error| error.to_string())?;
    print(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        let [_, path, text] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("unknown probe command `{line}`"));
        };
        match Root::real().write(path, text) {
            Ok(()) => print(out, "done")?,
            Err(error) => print(out, &format!("refused {}", errno(&error)))?,
        }
    }
    Ok(())
}
