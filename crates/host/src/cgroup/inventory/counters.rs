//! Counters of one group, from whichever hierarchy has them.

use std::path::PathBuf;

use crate::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::counters::{keyed, number};
use serde::Serialize;

use super::hierarchy::Mounted;
use super::or;

/// Counters of a group, including those of the groups below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// CPU time since the group was created, in microseconds.
    pub cpu_us: Available<u64>,
    /// Present memory, including page cache, in bytes.
    pub memory: Available<u64>,
    /// Peak memory so far, in bytes.
    pub memory_peak: Available<u64>,
    /// Present number of processes and threads.
    pub pids: Available<u64>,
    /// Bytes read since the group was created, from all disks.
    pub read_bytes: Available<u64>,
    /// Bytes written since the group was created, to all disks.
    pub write_bytes: Available<u64>,
}

/// The group's directory in each hierarchy that has it.
type Directories<'h> = [(&'h Mounted, PathBuf)];

pub(super) fn read(root: &Root, directories: &Directories) -> Counts {
    let reader = Reader { root, directories };
    let (read_bytes, write_bytes) = reader.io();
    let on_v1 = reader.number("cpuacct", "cpuacct.usage").map(|time| time / 1000);
    Counts {
        cpu_us: or(on_v1, || reader.cpu_stat()),
        memory: reader.either("memory", "memory.current", "memory.usage_in_bytes"),
        memory_peak: reader.either("memory", "memory.peak", "memory.max_usage_in_bytes"),
        pids: reader.number("pids", "pids.current"),
        read_bytes,
        write_bytes,
    }
}

struct Reader<'r> {
    root: &'r Root,
    directories: &'r Directories<'r>,
}

impl Reader<'_> {
    fn text(&self, controller: &str, file: &str) -> Result<String, String> {
        let serves = |hierarchy: &Mounted| hierarchy.controllers.iter().any(|c| c == controller);
        let found = self.directories.iter().find(|(hierarchy, _)| serves(hierarchy));
        let Some((_, directory)) = found else {
            return Err(format!("it is in no hierarchy of the controller `{controller}`"));
        };
        self.root.read(directory.join(file)).map_err(|_| format!("it has no `{file}`"))
    }

    fn number(&self, controller: &str, file: &str) -> Available<u64> {
        match self.text(controller, file) {
            Ok(text) => number(text.as_bytes()).map_or_else(|| unreadable(file), Available::Value),
            Err(why) => Available::NotAvailable(why),
        }
    }

    /// A file with different names on v1 and v2.
    fn either(&self, controller: &str, on_v2: &str, on_v1: &str) -> Available<u64> {
        or(self.number(controller, on_v1), || self.number(controller, on_v2))
    }

    /// cgroup2 counts CPU time in every group, whichever controllers it serves.
    fn cpu_stat(&self) -> Available<u64> {
        let Some((_, directory)) = self.directories.iter().find(|(hierarchy, _)| hierarchy.is_v2)
        else {
            let why = "it is in no hierarchy that counts CPU time".to_owned();
            return Available::NotAvailable(why);
        };
        let text = self.root.read(directory.join("cpu.stat")).unwrap_or_default();
        keyed(text.as_bytes(), "usage_usec")
            .map_or_else(|| unreadable("cpu.stat"), Available::Value)
    }

    /// v2's `io.stat`; on v1 the files of the throttling layer or of bfq, whichever have lines: a group
    /// without any has done no I/O that was counted.
    fn io(&self) -> (Available<u64>, Available<u64>) {
        if let Ok(text) = self.text("io", "io.stat") {
            let sum = |key| Available::Value(sum_of_fields(&text, key));
            return (sum("rbytes="), sum("wbytes="));
        }
        let files =
            ["blkio.throttle.io_service_bytes_recursive", "blkio.bfq.io_service_bytes_recursive"];
        let mut why = String::new();
        for file in files {
            match self.text("io", file) {
                Ok(text) if text.contains(':') => {
                    let sum = |word| Available::Value(sum_of_lines(&text, word));
                    return (sum("Read"), sum("Write"));
                }
                Ok(_) => "none of its disks uses bfq or has a throttle rule".clone_into(&mut why),
                Err(reason) if why.is_empty() => why = reason,
                Err(_) => {}
            }
        }
        (Available::NotAvailable(why.clone()), Available::NotAvailable(why))
    }
}

fn unreadable(file: &str) -> Available<u64> {
    Available::NotAvailable(format!("its `{file}` does not contain this number"))
}

/// Sum of `key` over the lines of `io.stat`, one per device.
fn sum_of_fields(text: &str, key: &str) -> u64 {
    let values = text.split_whitespace().filter_map(|word| word.strip_prefix(key));
    values.filter_map(|value| value.parse::<u64>().ok()).sum()
}

/// Sum over the lines `MAJOR:MINOR word N` of a blkio file.
fn sum_of_lines(text: &str, word: &str) -> u64 {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let device = fields.next()?;
            (device.contains(':') && fields.next()? == word)
                .then(|| fields.next()?.parse::<u64>().ok())?
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_summed_without_the_totals() {
        let v2 = "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rbytes=10 wbytes=20 rios=1 wios=1\n";
        assert_eq!((sum_of_fields(v2, "rbytes="), sum_of_fields(v2, "wbytes=")), (11, 22));
        let v1 = "7:0 Read 4096\n7:0 Write 512\n7:0 Total 4608\n7:1 Read 4\nTotal 4612\n";
        assert_eq!((sum_of_lines(v1, "Read"), sum_of_lines(v1, "Write")), (4100, 512));
    }
}
