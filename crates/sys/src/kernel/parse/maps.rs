//! /proc/PID/maps (proc_pid_maps(5)): the mapped addresses of a process.

use std::collections::BTreeSet;
use std::ops::Range;

/// Address ranges at which a process may have pages, sorted; without `[vsyscall]`, which belongs to the
/// kernel and has no page of the process.
#[must_use]
pub fn ranges(text: &str) -> Vec<Range<u64>> {
    text.lines().filter(|line| !line.ends_with("[vsyscall]")).filter_map(range).collect()
}

fn range(line: &str) -> Option<Range<u64>> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let access = words.next()?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    // Inaccessible memory is a guard or a reservation and has no pages.
    (!access.starts_with("---") && range.start < range.end).then_some(range)
}

/// Files with an executable mapping: programs and their libraries, by path. A blank in a path is
/// written as `\040`, as in numa_maps.
#[must_use]
pub fn programs(text: &str) -> BTreeSet<String> {
    let path = |line: &str| {
        let access = line.split(' ').nth(1).filter(|access| access.contains('x'))?;
        let (_, path) = line.split_once(access)?.1.split_once('/')?;
        Some(format!("/{path}").replace(' ', "\\040"))
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_files_with_an_executable_mapping() {
        let text = "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 1 /usr/bin/a b\n\
                    55d0c0a02000-55d0c0a04000 r-xp 00000000 fe:00 1 /usr/bin/a b\n\
                    7f0000000000-7f0000021000 r-xp 00000000 00:00 0 \n\
                    7f0000021000-7f0004000000 r--s 00000000 fe:00 2 /data/table\n\
                    7f0004000000-7f0004001000 r-xp 00000000 00:00 0 [vdso]\n";
        assert_eq!(programs(text), BTreeSet::from(["/usr/bin/a\\040b".to_owned()]));
    }

    #[test]
    fn reservations_and_kernel_pages_are_left_out() {
        let text = "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 1 /usr/bin/a b\n\
                    7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\
                    7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n\
                    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n\
                    garbage\n";
        let parsed = ranges(text);
        assert_eq!(parsed.len(), 2, "{parsed:?}");
        assert_eq!(parsed[1], 0x7f00_0000_0000..0x7f00_0002_1000);
    }
}
