//! What to sample, and in which files.

use std::path::PathBuf;

/// The files of a group's I/O counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IoFiles {
    /// cgroup v1: one file of bytes and one of requests.
    Blkio {
        /// `blkio.bfq.io_service_bytes` or `blkio.throttle.io_service_bytes`.
        bytes: PathBuf,
        /// The same with `io_serviced`.
        requests: PathBuf,
    },
    /// cgroup v2.
    IoStat(PathBuf),
}

/// The file of a group's CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuFile {
    /// cgroup v1: `cpuacct.usage`, nanoseconds.
    Cpuacct(PathBuf),
    /// cgroup v2: `cpu.stat`, `usage_usec`.
    CpuStat(PathBuf),
}

/// A group to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTarget {
    /// The subject of its rows.
    pub name: String,
    /// Its I/O counters and the device (`7:0`) they are read for; the reason if there are none.
    pub io: Result<(IoFiles, String), String>,
    /// Its CPU time; the reason if there is none.
    pub cpu: Result<CpuFile, String>,
    /// Its directory on cgroup v2, where pressure files are; v1 has none.
    pub pressure: Option<PathBuf>,
    /// Its memory counters; the reason if there are none.
    pub memory: Result<MemoryFiles, String>,
}

/// The files of a group's memory counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFiles {
    /// The group's directory in the hierarchy that serves `memory`.
    pub directory: PathBuf,
    /// Whether that is cgroup v2.
    pub is_v2: bool,
}

/// A `cpu.stat` of the controller `cpu`, which counts throttling by a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrottleTarget {
    /// The subject of its rows: a group's name, or `above:PATH` for a group around the run's own.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// A disk to sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskTarget {
    /// The kernel's name, the subject of its rows.
    pub device: String,
}

/// Processes to follow, with their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTarget {
    /// Prefix of the names of its threads and processes: a group's name, without a colon.
    pub name: String,
    /// How its processes are found.
    pub of: Processes,
}

/// How the processes of a target are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Processes {
    /// In a control group and all groups inside it: its directories, one in each hierarchy to read.
    Group(Vec<PathBuf>),
    /// The descendants of a process.
    Tree {
        /// The process.
        pid: u32,
        /// Whether the process itself is included.
        itself: bool,
    },
}

/// Everything to sample in one repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// Groups.
    pub groups: Vec<GroupTarget>,
    /// Disks.
    pub disks: Vec<DiskTarget>,
    /// Groups with a CPU quota, or around such a group; the reason if the controller `cpu` is not used.
    pub throttles: Result<Vec<ThrottleTarget>, String>,
    /// Processes whose threads and pages are followed; the reason if there are none.
    pub processes: Result<Vec<ProcessTarget>, String>,
}

impl Default for Targets {
    fn default() -> Self {
        let none = Err("no group has a CPU quota".to_owned());
        let no_processes = Err("no group or process is followed".to_owned());
        Self { groups: Vec::new(), disks: Vec::new(), throttles: none, processes: no_processes }
    }
}
