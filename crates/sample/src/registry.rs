//! The table of all sources: what each reads, at which pace, and whether it is on by default.
//! docs/reference/sources.md is generated from it, and a test keeps the two equal.

/// One source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceInfo {
    /// Name of its table.
    pub name: &'static str,
    /// The subject of its rows.
    pub subject: &'static str,
    /// What it measures, in a few words.
    pub what: &'static str,
    /// The files it reads.
    pub files: &'static str,
    /// How often it is read.
    pub pace: &'static str,
    /// Whether every run has it, or only runs that request it.
    pub usual: bool,
    /// The kernel version that introduced it, if later than 4.15, or the configuration it depends on.
    pub since: &'static str,
    /// CPU time of the kernel for one read, on the machine of docs/results/performance.md.
    pub cost: &'static str,
}

/// Selection of sources for a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Choice {
    /// The sources that every run has.
    #[default]
    Usual,
    /// The usual sources and these.
    Also(Vec<String>),
    /// The usual sources, those that are optional because of their size, and these: everything that does not
    /// disturb the host.
    Most(Vec<String>),
}

impl Choice {
    /// Whether the source of this name is included.
    #[must_use]
    pub fn includes(&self, name: &str) -> bool {
        let usual = SOURCES.iter().any(|source| source.name == name && source.usual);
        match self {
            Self::Usual => usual,
            Self::Also(more) => usual || more.iter().any(|more| more == name),
            Self::Most(more) => !DISTURBING.contains(&name) || more.iter().any(|more| more == name),
        }
    }
}

/// Sources that are read only when requested by name, since other processes wait while the kernel counts.
const DISTURBING: [&str; 1] = ["pagetypeinfo"];

const EVERY: &str = "every round";

/// All sources, in the order in which a round reads them.
pub const SOURCES: &[SourceInfo] = &[
    SourceInfo {
        name: "io",
        subject: "group",
        what: "bytes and requests of each group on its disk",
        files: "v1 `blkio.throttle.*` or `blkio.bfq.*`, v2 `io.stat`",
        pace: EVERY,
        usual: true,
        since: "",
        cost: "1.2 us a file",
    },
    SourceInfo {
        name: "disk",
        subject: "disk",
        what: "requests, sectors, time and requests in flight of each disk",
        files: "`/sys/block/X/stat`",
        pace: EVERY,
        usual: true,
        since: "",
        cost: "2.5 us a disk",
    },
    SourceInfo {
        name: "cpu",
        subject: "group",
        what: "CPU time of each group",
        files: "v1 `cpuacct.usage`, v2 `cpu.stat`",
        pace: EVERY,
        usual: true,
        since: "",
        cost: "1.3 us a group; of 16 groups or more on v1 one read of an iterator, a tenth of that a group",
    },
    SourceInfo {
        name: "cpu_split",
        subject: "group",
        what: "CPU time of each group by CPU, where CPU time is divided",
        files: "v1 `cpuacct.usage_percpu`",
        pace: "1 s",
        usual: true,
        since: "not on v2",
        cost: "1.2 us a group",
    },
    SourceInfo {
        name: "throttle",
        subject: "group",
        what: "how often and how long a CPU quota throttled",
        files: "`cpu.stat` of the controller `cpu`",
        pace: EVERY,
        usual: true,
        since: "",
        cost: "1.4 us a group",
    },
    SourceInfo {
        name: "memory",
        subject: "group; in a study only where it limits memory or promises something about it",
        what: "memory of each group, reclaim, and limits reached",
        files: "v1 `memory.usage_in_bytes`, `memory.stat`; v2 `memory.current`, `memory.stat`, \
                `memory.events`",
        pace: "every round; `memory.stat` every fifth, at most ten groups per round",
        usual: true,
        since: "",
        cost: "1 us a group, of 16 groups or more a fifth of that by an iterator; 7 us with `memory.stat`",
    },
    SourceInfo {
        name: "dirty",
        subject: "host",
        what: "memory waiting for writeback, and the kernel's current thresholds",
        files: "`/proc/vmstat`",
        pace: "0.5 s",
        usual: true,
        since: "",
        cost: "18 us",
    },
    SourceInfo {
        name: "host_cpu",
        subject: "host",
        what: "how all CPUs together spent their time",
        files: "`/proc/stat`",
        pace: EVERY,
        usual: true,
        since: "",
        cost: "7.5 us",
    },
    SourceInfo {
        name: "cpus",
        subject: "each CPU",
        what: "how each CPU spent its time",
        files: "`/proc/stat`",
        pace: "0.5 s",
        usual: true,
        since: "",
        cost: "7.5 us",
    },
    SourceInfo {
        name: "pressure",
        subject: "host; on v2 each group",
        what: "how long tasks waited for CPU, I/O and memory",
        files: "`/proc/pressure/*`, v2 `*.pressure`",
        pace: EVERY,
        usual: true,
        since: "4.20, CONFIG_PSI; cpu full since 5.13",
        cost: "2 us a file",
    },
    SourceInfo {
        name: "vmstat",
        subject: "host",
        what: "paging, faults, reclaim, swapping, compaction, huge pages, NUMA balancing",
        files: "`/proc/vmstat`",
        pace: EVERY,
        usual: true,
        since: "by column",
        cost: "18 us",
    },
    SourceInfo {
        name: "meminfo",
        subject: "host",
        what: "page cache, dirty and anonymous memory, huge pages, swap, slab",
        files: "`/proc/meminfo`",
        pace: EVERY,
        usual: true,
        since: "by column",
        cost: "5.7 us",
    },
    SourceInfo {
        name: "nodes",
        subject: "each NUMA node",
        what: "memory of each node, and the intended nodes of allocations",
        files: "`/sys/devices/system/node/nodeN/{meminfo,numastat}`",
        pace: "1 s",
        usual: true,
        since: "CONFIG_NUMA",
        cost: "7 us a node",
    },
    SourceInfo {
        name: "buddyinfo",
        subject: "each zone",
        what: "free blocks of each order, unusable free space, fragmentation index",
        files: "`/proc/buddyinfo`",
        pace: "1 s",
        usual: true,
        since: "",
        cost: "4 us",
    },
    SourceInfo {
        name: "pagetypeinfo",
        subject: "each kind of pages of each zone",
        what: "the same by migrate type",
        files: "`/proc/pagetypeinfo`",
        pace: "10 s",
        usual: false,
        since: "root only since 5.3",
        cost: "0.3 to 33 ms, the longer the more blocks are free, under the lock of each zone",
    },
    SourceInfo {
        name: "group_nodes",
        subject: "group",
        what: "on which nodes the memory of each group is",
        files: "`memory.numa_stat`",
        pace: "1 s",
        usual: false,
        since: "v2 5.10; CONFIG_NUMA",
        cost: "4 us a group",
    },
    SourceInfo {
        name: "threads",
        subject: "each thread, `GROUP:COMMAND:PID:TID`",
        what: "CPU, node, state, time on a CPU and waiting for one, migrations, faults",
        files: "an iterator of eBPF over all tasks; else `/proc/PID/task/TID/{stat,schedstat}`",
        pace: EVERY,
        usual: false,
        since: "iterator 5.8, CONFIG_DEBUG_INFO_BTF; schedstat CONFIG_SCHED_INFO",
        cost: "with the iterator a read of all threads of the machine; from /proc 1.3 us asleep, 4.4 us running",
    },
    SourceInfo {
        name: "pages",
        subject: "each process, `GROUP:COMMAND:PID`",
        what: "on which nodes its pages are; now and then exact, by kind and by policy",
        files: "move_pages(2) of pages drawn at random; `/proc/PID/numa_maps`",
        pace: "1 s; exact 10 s",
        usual: false,
        since: "CONFIG_NUMA",
        cost: "2400 pages drawn; exact 11 ms a GiB",
    },
    SourceInfo {
        name: "perf",
        subject: "each node, `host@nodeN`, and each group on it, `GROUP@nodeN`",
        what: "cycles, instructions, accesses to the last cache and misses; what a CPU counted for \
               a part of the time stands for the whole",
        files: "perf_event_open(2) for each CPU",
        pace: "1 s",
        usual: false,
        since: "a PMU; groups CONFIG_CGROUP_PERF and a directory on v2",
        cost: "a read(2) for each event, CPU and group",
    },
    SourceInfo {
        name: "resctrl",
        subject: "each domain of the last cache, `L3_00`",
        what: "occupancy of the cache, and its traffic with memory, in total and local to its node",
        files: "`/sys/fs/resctrl/**/mon_data`",
        pace: "1 s",
        usual: false,
        since: "4.12, and a CPU that monitors (`info/L3_MON`); mounted by the host",
        cost: "a file for each column, domain and group of control",
    },
    SourceInfo {
        name: "uncore",
        subject: "each node, `node0`",
        what: "bytes that memory controllers read and wrote",
        files: "perf_event_open(2) of the PMUs `uncore_imc*` and `amd_umc_*` of \
                `/sys/bus/event_source/devices`, with the codes and scales of their `events`",
        pace: "1 s",
        usual: false,
        since: "amd_umc 6.10; a machine whose memory controllers have a PMU",
        cost: "two read(2) for each controller and socket",
    },
    SourceInfo {
        name: "damon",
        subject: "each scheme of DAMON that is on, `kdamond0.0.0:pageout`",
        what: "bytes that a scheme tried and applied, and the CPU time of its thread",
        files: "`/sys/kernel/mm/damon/admin/kdamonds`, `/sys/module/damon_reclaim/parameters`, \
                `/proc/PID/schedstat`",
        pace: "1 s",
        usual: true,
        since: "damon_reclaim 5.16, CONFIG_DAMON_SYSFS 5.18; counts of bytes where `refresh_ms` \
                (6.17) is not 0",
        cost: "one file for a thread, two more where bytes are kept up to date",
    },
];
