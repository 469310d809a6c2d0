//! /proc/PID/maps (proc_pid_maps(5)): which addresses a process has mapped.

use std::ops::Range;

/// Ranges of addresses that a process may have pages at, in order; `[vsyscall]` is left out, which
/// belongs to the kernel and has no page of the process.
#[must_use]
pub fn ranges(text: &str) -> Vec<Range<u64>> {
    text.lines().filter(|line| !line.ends_with("[vsyscall]")).filter_map(range).collect()
}

fn range(line: &str) -> Option<Range<u64>> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let access = words.next()?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    // Memory that nobody may touch is a guard or a reservation and holds no pages.
    (!access.starts_with("---") && range.start < range.end).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_and_what_belongs_to_the_kernel_are_left_out() {
        let text = "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 1 /usr/bin/a b\n\
                    7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\
                    7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n\
                    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n\
                    garbage\n";
        let found = ranges(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], 0x7f00_0000_0000..0x7f00_0002_1000);
    }
}
