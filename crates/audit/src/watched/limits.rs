//! The limits that groups were given, each with the counters that tell whether it was reached.

use assay_host::facts::owner::Owner;
use assay_host::knob::{field, limit};
use serde::Serialize;

use crate::finding::Reading;
use crate::host::{Host, Scope};
use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::Node;

/// What a limit is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitOf {
    /// CPU time per time.
    Cpu,
    /// Bytes of memory.
    Memory,
    /// Bytes of memory above which the group is slowed down.
    MemoryHigh,
    /// Tasks.
    Pids,
    /// A rate of requests to a disk, or of their bytes.
    Disk(DiskRate),
}

/// A rate that is limited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskRate {
    /// The device, `8:0`.
    pub device: String,
    /// Whether reads are limited, not writes.
    pub is_read: bool,
    /// Whether bytes are, not requests.
    pub is_bytes: bool,
}

/// A limit of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitSetting {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the limit.
    pub reading: Reading,
    /// What it is of.
    pub of: LimitOf,
    /// The limit: CPUs, bytes, tasks, or a rate per second.
    pub amount: f64,
    /// Whether the group is one of cgroup2.
    pub is_v2: bool,
    /// The directory of the group.
    pub directory: String,
}

/// All limits of all groups.
#[must_use]
pub fn limit_settings(snapshot: &Snapshot) -> Vec<LimitSetting> {
    let host = Host::new(snapshot);
    let nodes = host.groups(Scope::All).filter(|node| !node.is_top());
    let all = nodes.flat_map(|node| of_group(node).into_iter().map(move |one| (node, one)));
    all.map(|(node, (file, of, amount))| LimitSetting {
        group: node.path().to_owned(),
        owner: owner::named(snapshot, node.path()),
        reading: node.reading(file),
        of,
        amount,
        is_v2: node.tree.hierarchy.is_v2,
        directory: node.directory(),
    })
    .collect()
}

fn of_group(node: Node) -> Vec<(&'static str, LimitOf, f64)> {
    let mut limits = Vec::new();
    if let Some((file, cpus)) = node.quota() {
        limits.push((file, LimitOf::Cpu, cpus));
    }
    for (file, of) in [
        ("memory.max", LimitOf::Memory),
        ("memory.limit_in_bytes", LimitOf::Memory),
        ("memory.high", LimitOf::MemoryHigh),
        ("pids.max", LimitOf::Pids),
    ] {
        if let Some(most) = node.limit(file) {
            limits.push((file, of, most as f64));
        }
    }
    limits.extend(rates(node));
    limits
}

/// A key in the lines of a file, whether it limits reads, and whether bytes.
type Rate = (&'static str, bool, bool);

/// Files with limits for devices. Lines of v1 have a number alone.
const RATES: [(&str, &[Rate]); 5] = [
    (
        "io.max",
        &[
            ("rbps", true, true),
            ("wbps", false, true),
            ("riops", true, false),
            ("wiops", false, false),
        ],
    ),
    ("blkio.throttle.read_bps_device", &[("", true, true)]),
    ("blkio.throttle.write_bps_device", &[("", false, true)]),
    ("blkio.throttle.read_iops_device", &[("", true, false)]),
    ("blkio.throttle.write_iops_device", &[("", false, false)]),
];

fn rates(node: Node) -> impl Iterator<Item = (&'static str, LimitOf, f64)> {
    let lines = move |(file, rates): (&'static str, &'static [Rate])| {
        node.device_lines(file)
            .flat_map(move |line| rates.iter().map(move |rate| (file, line, rate)))
    };
    RATES.into_iter().flat_map(lines).filter_map(|(file, (device, line), (key, read, bytes))| {
        let text = if key.is_empty() { line } else { field(line, key)? };
        let of = DiskRate { device: device.to_owned(), is_read: *read, is_bytes: *bytes };
        Some((file, LimitOf::Disk(of), limit(text)?.amount()? as f64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn limits_of_both_interfaces_are_found() {
        let v2 = Fake::v2()
            .group(
                "/a",
                &[
                    ("cpu.max", "50000 100000"),
                    ("memory.max", "4096"),
                    ("memory.high", "max"),
                    ("pids.max", "7"),
                    ("io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=10"),
                ],
            )
            .snapshot();
        let found: Vec<(LimitOf, f64)> =
            limit_settings(&v2).into_iter().map(|one| (one.of, one.amount)).collect();
        let rate = |is_read, is_bytes| {
            LimitOf::Disk(DiskRate { device: "8:0".to_owned(), is_read, is_bytes })
        };
        assert_eq!(
            found,
            [
                (LimitOf::Cpu, 0.5),
                (LimitOf::Memory, 4096.0),
                (LimitOf::Pids, 7.0),
                (rate(true, true), 1_048_576.0),
                (rate(false, false), 10.0),
            ]
        );
        let v1 = Fake::v1("cpu")
            .group("/a", &[("cpu.cfs_quota_us", "20000"), ("cpu.cfs_period_us", "10000")])
            .group("/b", &[("cpu.cfs_quota_us", "-1"), ("cpu.cfs_period_us", "10000")])
            .snapshot();
        let found = limit_settings(&v1);
        assert_eq!((found.len(), found[0].amount), (1, 2.0));
        assert_eq!(found[0].directory, "/sys/fs/cgroup/a");
    }
}
