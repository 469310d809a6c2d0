//! The limits that are probed, their files on both versions, and what a proof costs.

use std::path::Path;
use std::str::FromStr;

use assay_sys::kernel::{Error, Root};
use assay_sys::units::{Bytes, CpuSet};

/// Stands for a file: on v2 programs decide about devices.
pub(crate) const DEVICE_PROGRAM: &str = "device program";

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The most memory.
    MemoryMax,
    /// Memory from which on a group is slowed.
    MemoryHigh,
    /// The most swap.
    SwapMax,
    /// The most huge pages of 2 MiB.
    HugePages,
    /// The most tasks.
    PidsMax,
    /// CPU time in a period.
    CpuMax,
    /// The part of a CPU among siblings.
    CpuWeight,
    /// The CPUs.
    CpusetCpus,
    /// Reads of a disk in a second; on v2 writes, too.
    IoMax,
    /// Writes to a disk in a second, on v1.
    WriteMax,
    /// The part of a disk among siblings.
    IoWeight,
    /// Devices that may be used.
    Devices,
}

/// What a proof may cost everybody else, at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Seconds.
    pub seconds: f64,
    /// CPU time in seconds, at the lowest weight.
    pub cpu_seconds: f64,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Tasks.
    pub tasks: u32,
    /// Reads or writes in MiB; `None`: as many as the disk serves.
    pub io_mib: Option<u64>,
}

impl Limit {
    /// In the order of a page.
    pub const ALL: [Self; 12] = [
        Self::MemoryMax,
        Self::MemoryHigh,
        Self::SwapMax,
        Self::HugePages,
        Self::PidsMax,
        Self::CpuMax,
        Self::CpuWeight,
        Self::CpusetCpus,
        Self::IoMax,
        Self::WriteMax,
        Self::IoWeight,
        Self::Devices,
    ];

    /// The controller, by its v2 name.
    #[must_use]
    pub const fn controller(self) -> &'static str {
        match self {
            Self::MemoryMax | Self::MemoryHigh | Self::SwapMax => "memory",
            Self::HugePages => "hugetlb",
            Self::PidsMax => "pids",
            Self::CpuMax | Self::CpuWeight => "cpu",
            Self::CpusetCpus => "cpuset",
            Self::IoMax | Self::WriteMax | Self::IoWeight => "io",
            Self::Devices => "devices",
        }
    }

    /// The file; v1 has nothing like `memory.high`, and limits memory and swap together.
    #[must_use]
    pub const fn file(self, is_v2: bool) -> Option<&'static str> {
        Some(match (self, is_v2) {
            (Self::MemoryMax, true) => "memory.max",
            (Self::MemoryMax, false) => "memory.limit_in_bytes",
            (Self::MemoryHigh, true) => "memory.high",
            (Self::SwapMax, true) => "memory.swap.max",
            (Self::MemoryHigh | Self::SwapMax, false) => return None,
            (Self::HugePages, true) => "hugetlb.2MB.max",
            (Self::HugePages, false) => "hugetlb.2MB.limit_in_bytes",
            (Self::PidsMax, _) => "pids.max",
            (Self::CpuMax, true) => "cpu.max",
            (Self::CpuMax, false) => "cpu.cfs_quota_us",
            (Self::CpuWeight, true) => "cpu.weight",
            (Self::CpuWeight, false) => "cpu.shares",
            (Self::CpusetCpus, _) => "cpuset.cpus",
            (Self::IoMax, true) => "io.max",
            (Self::IoMax, false) => "blkio.throttle.read_bps_device",
            (Self::WriteMax, true) => return None,
            (Self::WriteMax, false) => "blkio.throttle.write_bps_device",
            (Self::IoWeight, true) => "io.weight",
            (Self::IoWeight, false) => "blkio.bfq.weight",
            (Self::Devices, true) => DEVICE_PROGRAM,
            (Self::Devices, false) => "devices.list",
        })
    }

    /// What its proof costs at most.
    #[must_use]
    pub const fn cost(self) -> Cost {
        let none =
            Cost { seconds: 1.0, cpu_seconds: 0.1, memory_mib: 4, tasks: 2, io_mib: Some(0) };
        match self {
            Self::MemoryMax | Self::MemoryHigh | Self::SwapMax => {
                Cost { seconds: 3.0, memory_mib: 56, ..none }
            }
            Self::HugePages => Cost { memory_mib: 8, ..none },
            Self::PidsMax => Cost { tasks: 26, ..none },
            Self::CpuMax => Cost { seconds: 3.0, cpu_seconds: 1.2, ..none },
            // Twice as long if others leave little.
            Self::CpuWeight => Cost { seconds: 7.0, cpu_seconds: 7.0, tasks: 4, ..none },
            Self::CpusetCpus => none,
            // On v2 up to four caps.
            Self::IoMax => Cost { seconds: 13.0, io_mib: Some(64), ..none },
            Self::WriteMax => Cost { seconds: 4.0, io_mib: Some(64), ..none },
            Self::IoWeight => Cost { seconds: 8.0, cpu_seconds: 8.0, io_mib: None, ..none },
            Self::Devices => none,
        }
    }

    /// What a file says, in bytes, tasks or CPUs; `None` if it is no limit. Of weights the weight, unless it is the default.
    pub(crate) fn amount(
        self,
        root: &Root,
        group: &Path,
        is_v2: bool,
    ) -> Result<Option<f64>, Error> {
        let Some(file) = self.file(is_v2) else { return Ok(None) };
        let text = root.read_trimmed(group.join(file))?;
        Ok(match self {
            Self::CpuMax if is_v2 => {
                let (quota, period) = text.split_once(' ').unwrap_or((&text, "100000"));
                ratio(quota, period)
            }
            Self::CpuMax => ratio(&text, &root.read_trimmed(group.join("cpu.cfs_period_us"))?),
            Self::CpuWeight => {
                let default = if is_v2 { 100.0 } else { 1024.0 };
                number(&text).filter(|weight: &f64| *weight != default)
            }
            // PAGE_COUNTER_MAX of mm/page_counter.c: more than any machine has.
            Self::MemoryMax | Self::MemoryHigh | Self::SwapMax | Self::HugePages => {
                number(&text).filter(|bytes| *bytes < 2_f64.powi(62))
            }
            Self::PidsMax => number(&text),
            Self::CpusetCpus | Self::IoMax | Self::WriteMax | Self::IoWeight | Self::Devices => {
                None
            }
        })
    }

    /// An amount for people.
    pub(crate) fn shown(self, amount: f64) -> String {
        match self {
            Self::MemoryMax | Self::MemoryHigh | Self::SwapMax | Self::HugePages => {
                Bytes::new(amount as u64).to_string()
            }
            Self::PidsMax => format!("{amount} tasks"),
            Self::CpuMax => format!("{} CPUs", (amount * 1000.0).round() / 1000.0),
            Self::CpuWeight => format!("{amount}"),
            Self::CpusetCpus | Self::IoMax | Self::WriteMax | Self::IoWeight | Self::Devices => {
                String::new()
            }
        }
    }
}

/// The file of the CPUs that a group has.
pub(crate) const fn cpus_file(is_v2: bool) -> &'static str {
    if is_v2 { "cpuset.cpus.effective" } else { "cpuset.cpus" }
}

/// The CPUs that a group has.
pub(crate) fn cpus_of(root: &Root, group: &Path, is_v2: bool) -> Result<CpuSet, Error> {
    let path = group.join(cpus_file(is_v2));
    let text = root.read_trimmed(&path)?;
    text.parse()
        .map_err(|error| Error::unexpected("understand", &path, format!("`{text}`: {error}")))
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Quota by period; none without a quota, which is `max` on v2 and -1 on v1.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (number(quota)?, number(period)?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(limit: Limit, is_v2: bool, files: &[(&str, &str)]) -> Option<f64> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        limit.amount(&Root::at(folder.path()), Path::new("/"), is_v2).unwrap()
    }

    #[test]
    fn no_limit_is_none_on_both_versions() {
        assert_eq!(amount(Limit::MemoryMax, true, &[("memory.max", "max\n")]), None);
        let v1 = [("memory.limit_in_bytes", "9223372036854771712\n")];
        assert_eq!(amount(Limit::MemoryMax, false, &v1), None);
        assert_eq!(amount(Limit::CpuMax, true, &[("cpu.max", "max 100000\n")]), None);
        let v1 = [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(amount(Limit::CpuMax, false, &v1), None);
        assert_eq!(amount(Limit::CpuWeight, true, &[("cpu.weight", "100\n")]), None);
        assert_eq!(amount(Limit::PidsMax, true, &[("pids.max", "max\n")]), None);
    }

    #[test]
    fn limits_are_amounts() {
        assert_eq!(amount(Limit::CpuMax, true, &[("cpu.max", "50000 200000\n")]), Some(0.25));
        let v1 = [("cpu.cfs_quota_us", "150000\n"), ("cpu.cfs_period_us", "100000\n")];
        assert_eq!(amount(Limit::CpuMax, false, &v1), Some(1.5));
        assert_eq!(amount(Limit::MemoryHigh, false, &[]), None);
        assert_eq!(amount(Limit::PidsMax, false, &[("pids.max", "7\n")]), Some(7.0));
        assert_eq!(Limit::CpuMax.shown(0.25), "0.25 CPUs");
    }
}
