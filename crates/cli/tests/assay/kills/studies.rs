//! Four short studies that together make every kind of change possible on a host without null_blk.

use std::path::Path;

/// What a study changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Changes {
    /// A loop device under BFQ with partitions, each with ext4.
    Partitions,
    /// A loop device with settings of its queue.
    Queue,
    /// Groups in groups with knobs of several controllers.
    Knobs,
    /// A directory of an existing file system.
    Directory,
}

const READER: &str = "[workloads.reader]\nuse = \"fio\"\nargs = { rw = \"randread\", bs = \"4k\", \
                      ioengine = \"psync\", direct = 1 }\n";
const WRITER: &str = "[workloads.reader]\nuse = \"fio\"\nargs = { rw = \"randwrite\", bs = \"4k\", \
                      ioengine = \"psync\", size = \"1m\" }\n";
const PROMISE: &str = "[[promises]]\nmeasure = \"io.bytes\"\nis = \"equal\"\nwithin = \"50 %\"\n";

impl Changes {
    /// The study; `data` is a directory that it may use.
    pub(super) fn study(self, data: &Path) -> String {
        let (disk, groups, workload) = match self {
            Self::Partitions => (
                "use = \"loop\"\nsize = \"20 MiB\"\nscheduler = \"bfq\"\nformat = \"ext4\"\n\
                 partitions = 2"
                    .to_owned(),
                TWO.to_owned(),
                READER,
            ),
            Self::Queue => (
                "use = \"loop\"\nsize = \"8 MiB\"\nscheduler = \"bfq\"\nqueue = { \
                 \"iosched/low_latency\" = 0, nr_requests = 32, read_ahead_kb = 64, \
                 rotational = 0 }"
                    .to_owned(),
                TWO.to_owned(),
                READER,
            ),
            Self::Knobs => {
                ("use = \"loop\"\nsize = \"8 MiB\"".to_owned(), NESTED.to_owned(), READER)
            }
            Self::Directory => (
                format!("use = \"directory\"\npath = \"{}\"\nsize = \"4 MiB\"", data.display()),
                LIMITED.to_owned(),
                WRITER,
            ),
        };
        // Groups are made, removed and made again.
        let repeats = if matches!(self, Self::Knobs) { 2 } else { 1 };
        format!(
            "title = \"To be killed\"\n[design]\nrepeats = {repeats}\nwarm_up = \"0.1 s\"\nat_most \
             = \"1 s\"\n[disks.scratch]\n{disk}\n{groups}{workload}{PROMISE}"
        )
    }
}

const TWO: &str = "[[groups]]\nname = \"task\"\ncount = 2\nrun = \"reader\"\n";
const LIMITED: &str = "[[groups]]\nname = \"task\"\ncount = 2\nknobs = { \"pids.max\" = 50, \
                       \"memory.max\" = \"64M\" }\nrun = \"reader\"\n";
const NESTED: &str = "[[groups]]\nname = \"outer\"\ncount = 2\nknobs = { \"cpu.weight\" = [100, \
                      300], \"memory.max\" = \"512M\" }\n[[groups.groups]]\nname = \"inner\"\n\
                      count = 2\nknobs = { \"cpuset.cpus\" = \"0\", \"cpu.max\" = \"50000 \
                      100000\", \"pids.max\" = 100 }\nrun = \"reader\"\n";
