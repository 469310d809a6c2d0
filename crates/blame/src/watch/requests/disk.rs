//! A disk as /sys/block shows it.

use assay_sys::kernel::{Error, Root};

use crate::watch::watch_error::WatchError;

/// Room for the places of a hardware queue, so that `nr_requests` may be raised while the disk is watched.
const LEAST_DEPTH: u32 = 256;

/// Columns of /sys/block/DISK/stat with the times of reads, writes and discards in ms
/// (Documentation/admin-guide/iostats.rst).
const TIMES: [usize; 3] = [3, 7, 14];

/// A disk whose requests are followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WatchedDisk {
    pub(crate) name: String,
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) scheduler: String,
    /// Places in the pool of each hardware queue.
    pub(crate) nr_requests: u32,
    /// Hardware queues.
    pub(crate) queues: u32,
    /// What the kernel had counted at the start.
    pub(crate) counted_ns: u64,
}

impl WatchedDisk {
    pub(super) fn read(root: &Root, name: &str) -> Result<Self, WatchError> {
        let directory = format!("/sys/block/{name}");
        if name.contains('/') || !root.is_directory(&directory) {
            return Err(WatchError::Target(format!("there is no disk `{name}` in /sys/block")));
        }
        if !root.is_directory(format!("{directory}/mq")) {
            return Err(WatchError::Target(format!(
                "`{name}` has no requests of its own (no /sys/block/{name}/mq)\n  hint: name the disks that it is made of"
            )));
        }
        Self::read_directory(root, name).map_err(|error| WatchError::Host(error.to_string()))
    }

    fn read_directory(root: &Root, name: &str) -> Result<Self, Error> {
        let directory = format!("/sys/block/{name}");
        let device = root.read_trimmed(format!("{directory}/dev"))?;
        let (major, minor) = device.split_once(':').unwrap_or_default();
        let queues = root.directories(format!("{directory}/mq"))?.len().max(1);
        let nr_requests = root.read_trimmed(format!("{directory}/queue/nr_requests"))?;
        Ok(Self {
            name: name.to_owned(),
            major: major.parse().unwrap_or_default(),
            minor: minor.parse().unwrap_or_default(),
            scheduler: scheduler(root, name)?,
            nr_requests: nr_requests.parse().unwrap_or_default(),
            queues: queues as u32,
            counted_ns: 0,
        })
    }

    /// Places in the pools of all hardware queues.
    pub(super) fn pool(&self) -> u64 {
        u64::from(self.nr_requests) * u64::from(self.queues)
    }

    /// Entries that the programs have for each hardware queue.
    pub(super) fn depth(&self) -> u32 {
        self.nr_requests.max(LEAST_DEPTH)
    }

    /// Entries for all of them.
    pub(crate) fn entries(&self) -> u32 {
        self.depth().saturating_mul(self.queues)
    }

    /// The times of all requests, from start to completion, as the kernel has counted them.
    pub(super) fn read_counted_ns(&self, root: &Root) -> Result<u64, Error> {
        let text = root.read_trimmed(format!("/sys/block/{}/stat", self.name))?;
        let columns: Vec<u64> =
            text.split_whitespace().map(|column| column.parse().unwrap_or(0)).collect();
        let times = TIMES.iter().filter_map(|column| columns.get(*column));
        Ok(times.sum::<u64>() * 1_000_000)
    }
}

/// The scheduler of a disk: the one in brackets.
pub(super) fn scheduler(root: &Root, disk: &str) -> Result<String, Error> {
    let text = root.read_trimmed(format!("/sys/block/{disk}/queue/scheduler"))?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Ok(chosen.unwrap_or(&text).to_owned())
}

/// Disks with requests of their own that have had any, the busiest first.
pub(crate) fn disks_in_use(root: &Root) -> Vec<WatchedDisk> {
    let read = |name: String| {
        let disk = WatchedDisk::read(root, &name).ok()?;
        let counted_ns = disk.read_counted_ns(root).ok()?;
        (counted_ns > 0).then_some(WatchedDisk { counted_ns, ..disk })
    };
    let all = root.list("/sys/block").unwrap_or_default();
    let mut used: Vec<WatchedDisk> = all.into_iter().filter_map(read).collect();
    used.sort_by_key(|disk| std::cmp::Reverse(disk.counted_ns));
    used
}

#[cfg(test)]
pub(super) mod tests {
    use assay_test_support::put;

    use super::*;

    /// A tree with a disk under BFQ.
    pub(crate) fn tree() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        let files = [
            ("dev", "7:3\n"),
            ("stat", "10 0 80 40 5 0 40 60 0 90 100 1 0 8 7 2 9\n"),
            ("queue/scheduler", "none mq-deadline [bfq]\n"),
            ("queue/nr_requests", "64\n"),
            ("mq/0/cpu_list", "0, 1\n"),
            ("mq/1/cpu_list", "2, 3\n"),
        ];
        for (file, text) in files {
            put(top.path(), &format!("sys/block/sda/{file}"), text);
        }
        put(top.path(), "sys/block/md0/dev", "9:0\n");
        top
    }

    #[test]
    fn a_disk_has_its_pool_and_the_times_of_its_requests() {
        let top = tree();
        let root = Root::at(top.path());
        let disk = WatchedDisk::read(&root, "sda").unwrap();
        assert_eq!((disk.major, disk.minor, disk.scheduler.as_str()), (7, 3, "bfq"));
        assert_eq!((disk.pool(), disk.depth(), disk.entries()), (128, 256, 512));
        assert_eq!(disk.read_counted_ns(&root).unwrap(), 107_000_000);
        let used = disks_in_use(&root);
        assert_eq!(used, [WatchedDisk { counted_ns: 107_000_000, ..disk }]);
    }

    #[test]
    fn what_is_no_disk_or_has_no_requests_of_its_own_is_refused() {
        let top = tree();
        let root = Root::at(top.path());
        for (name, reason) in [("sdb", "no disk `sdb`"), ("md0", "made of"), ("../sda", "no disk")]
        {
            let error = WatchedDisk::read(&root, name).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
