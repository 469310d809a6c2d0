//! `fork count=N`: waits for a line, then forks children until there are N or the kernel refuses.
//! Prints `forked K` and `refused ERRNO`, or `forked N` and `all`. The children sleep until they
//! are killed; each further line is another attempt.

use std::io::{BufRead, Write};
use std::time::Duration;

use assay_kernel::fork::{Forked, auto_reap_children, exit_immediately, fork};

use super::{Arguments, errno, lifetime, print};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let count: u32 = arguments.number("count", 1)?;
    let lifetime = lifetime(arguments)?;
    auto_reap_children();
    print(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(|cause| cause.to_string())?;
        let (forked, refused) = fork_up_to(count, lifetime);
        print(out, &format!("forked {forked}"))?;
        match refused {
            Some(number) => print(out, &format!("refused {number}"))?,
            None => print(out, "all")?,
        }
    }
    Ok(())
}

fn fork_up_to(count: u32, lifetime: Duration) -> (u32, Option<i32>) {
    for forked in 0..count {
        match fork() {
            Ok(Forked::Parent(_)) => {}
            Ok(Forked::Child) => {
                std::thread::sleep(lifetime);
                exit_immediately(0);
            }
            Err(error) => return (forked, Some(errno(&error))),
        }
    }
    (count, None)
}
