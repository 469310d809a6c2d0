//! `fork count=N`: waits for a line, then makes children until N are there or the kernel refuses
//! one. Says `forked K` and `refused ERRNO`, or `forked N` and `all`. The children sleep until
//! they are killed; each further line is another attempt.

use std::io::{BufRead, Write};
use std::time::Duration;

use assay_kernel::fork::{Forked, end_at_once, forget_children, fork};

use super::{Words, errno, life, say};

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let count: u32 = words.number("count", 1)?;
    let life = life(words)?;
    forget_children();
    say(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(|cause| cause.to_string())?;
        let (forked, refused) = fork_up_to(count, life);
        say(out, &format!("forked {forked}"))?;
        match refused {
            Some(number) => say(out, &format!("refused {number}"))?,
            None => say(out, "all")?,
        }
    }
    Ok(())
}

fn fork_up_to(count: u32, life: Duration) -> (u32, Option<i32>) {
    for forked in 0..count {
        match fork() {
            Ok(Forked::Parent(_)) => {}
            Ok(Forked::Child) => {
                std::thread::sleep(life);
                end_at_once(0);
            }
            Err(error) => return (forked, Some(errno(&error))),
        }
    }
    (count, None)
}
