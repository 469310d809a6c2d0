//! Causes that a validity check or a record of the kernel proves. Those that are suspected have their entries where they
//! are looked for.

use super::entry::{CauseEntry, Expect, FoundBy, PredictedEffect};

pub(super) static ENTRIES: &[CauseEntry] = &[
    // Disk shares.
    CauseEntry {
        code: "C-SCHEDULER",
        what: "The scheduler that obeys the knob was not active on the disk, so that the value was stored and ignored.",
        fingerprint: "`queue/scheduler` shows another one in brackets at the start, at the end, or between; shares follow demand.",
        confirm: "Set the scheduler that the knob needs: shares follow the weights at once.",
        tests: &["scheduler"],
        effects: &[PredictedEffect::SCHEDULER],
        remedy: "`scheduler = \"bfq\"` in the study (or iocost for io.weight on v2); find out who changes it (udev rules, tuned).",
        source: "Documentation/block/bfq-iosched.rst; docker/cli#3275, where `deadline` was active",
        ..CauseEntry::by_check("scheduler")
    },
    CauseEntry {
        code: "C-NOT-BACKLOGGED",
        what: "The queue of the disk ran dry, so that shares followed demand and not the knobs.",
        fingerprint: "A mean queue below half of what the workloads keep outstanding; under iocost, a disk that was not busy or groups that were not held back.",
        confirm: "More requests outstanding, or a slower disk: the queue fills and shares follow the weights.",
        tests: &["deeper"],
        effects: &[PredictedEffect::DEEPER],
        remedy: "Raise iodepth or the number of jobs until the queue is always full.",
        source: "Weights divide a queue; amazon-ecs-agent PR #93, kselftest's twin without contention",
        ..CauseEntry::by_check("backlogged")
    },
    CauseEntry {
        code: "C-DEMAND",
        what: "A group did not request all that it was promised, and weights cannot give a group what it does not request.",
        fingerprint: "A group short of its promise kept, by latency times rate, less than 0.9 of the requests outstanding that it was configured to keep (one of them may be in transit), while the pool and BFQ's cap had room for more. Of CPU time: it ran, or a task of it waited to run (`cpu.pressure`, cgroup v2), less than 0.9 of the time.",
        confirm: "More requests outstanding in that group, no pacing (`rate`, `thinktime`), threads that never sleep: its share rises to its promise.",
        tests: &["deeper"],
        effects: &[PredictedEffect::DEEPER],
        remedy: "Let the group always have requests waiting, or leave it out of the measured groups (`measured = false`).",
        source: "Little 1961; moby#16173, where idle groups were taken for ignored weights",
        ..CauseEntry::by_check("demand")
    },
    CauseEntry {
        code: "C-IO-LIMIT",
        what: "A limit of bytes, requests or latency of a group, or of one around it, bound, so that it and not the weights decided.",
        fingerprint: "`io.max` of a group or of one around it, or `blkio.throttle.*` of a group, and a rate of 0.8 of it or more; or `io.latency`, for which the kernel throttles all others.",
        confirm: "The same without the limit: shares follow the weights.",
        remedy: "Take the limit away, or judge it as a limit (`at_most`).",
        source: "Documentation/admin-guide/cgroup-v2.rst: io.max, io.latency; block/blk-throttle.c",
        ..CauseEntry::by_check("io-limit")
    },
    CauseEntry {
        code: "C-IO-PRIORITY",
        what: "The requests of some groups are of another I/O class than those of the others, and classes come before weights.",
        fingerprint: "ioprio_get(2) says `idle` or `rt` for threads of some group and not of others, or `io.prio.class` of a group is set.",
        confirm: "The same without `prioclass`, ionice or `io.prio.class`: shares follow the weights.",
        remedy: "The same class in all groups.",
        source: "block/bfq-iosched.c: no idling for a queue of the idle class, whatever its group; Documentation/block/ioprio.rst",
        ..CauseEntry::by_check("priority")
    },
    CauseEntry {
        code: "C-STACKED",
        what: "The disk is stacked on others (dm, md) and has no scheduler that obeys weights: most such devices pass requests on as they come and can have none; multipath can have one.",
        fingerprint: "The disk has `slaves`, and the scheduler that the knobs need is not active on it.",
        confirm: "The same groups on one of the disks below: shares follow the weights.",
        remedy: "Weights on a disk that is not stacked, iocost (io.weight of cgroup v2) of the disks below, or the scheduler of the multipath device itself.",
        source: "resctl-demo#254, where a stacked device had no scheduler to obey; drivers/md/dm-mpath.c: DM_TYPE_REQUEST_BASED",
        ..CauseEntry::by_check("stacked")
    },
    CauseEntry {
        code: "C-MERGED",
        what: "The groups' counters leave out requests that were merged into a waiting one, so that bytes are missing in them.",
        fingerprint: "cgroup v1, BFQ on a disk that the run did not make, sequential requests, and more bytes on the disk than in `blkio.bfq.io_service_bytes`.",
        confirm: "A limit that is never reached on the group above (`blkio.throttle.read_bps_device`) activates counters that are complete.",
        remedy: "cgroup v2, a scratch disk made by the run, or random requests.",
        source: "block/bfq-cgroup.c: bfqg_stats_update_io_merged; block/blk-throttle.c counts each bio",
        ..CauseEntry::by_check("page-cache")
    },
    CauseEntry {
        code: "C-BUFFERED",
        what: "Buffered writes are written out by the kernel's flusher threads; on cgroup v1 they belong to the root group, past every group's weight.",
        fingerprint: "Workloads that write without O_DIRECT while `io` is on a v1 hierarchy.",
        confirm: "The same with `direct = 1`: bytes appear in the groups that write them.",
        tests: &["direct"],
        effects: &[PredictedEffect::DIRECT],
        remedy: "`direct = 1`, or cgroup v2 with memory and io enabled on ext4, btrfs, f2fs or xfs.",
        source: "Documentation/admin-guide/cgroup-v2.rst, writeback; kata-containers#156",
        ..CauseEntry::by_check("buffered-writes")
    },
    CauseEntry {
        code: "C-PAGE-CACHE",
        what: "The page cache was measured: workloads and disk moved different amounts.",
        fingerprint: "Bytes on the disk are not 0.9 to 1.1 times those that the workloads report.",
        confirm: "The same with `direct = 1`: both amounts agree.",
        tests: &["direct"],
        effects: &[PredictedEffect::DIRECT],
        remedy: "`direct = 1`, or files much larger than memory.",
        source: "filebench#129 (9 GB/s on any device), tp-qemu#1617 (1:1 for 1:10)",
        ..CauseEntry::by_check("page-cache")
    },
    CauseEntry {
        code: "C-CPU",
        what: "The CPUs were the bottleneck and not the disk, so that the disk had nothing to divide.",
        fingerprint: "Less than 5 % of the CPUs idle, or of the busiest one where the kernel or the groups keep it busy (interrupts, the worker of a loop device, one thread); all classes of weight alike; throughput below that of a deep queue alone.",
        confirm: "Larger requests or a slower disk: shares return. One CPU less: the break comes earlier.",
        tests: &["slower", "one-cpu"],
        effects: &[
            PredictedEffect::SLOWER_DISK,
            PredictedEffect {
                of: &["one-cpu"],
                expect: Expect::RISES,
                why: "with fewer CPUs the break comes earlier",
            },
            PredictedEffect::unrelated(&["requests"]),
        ],
        remedy: "Larger requests, fewer jobs, or more CPUs.",
        source: "ICPE 2024 study of I/O schedulers: one core saturates at about 16 synchronous jobs without any scheduler",
        ..CauseEntry::by_check("cpu")
    },
    // Other users of the disk and of the machine.
    CauseEntry {
        code: "C-DISK-OTHERS",
        what: "Processes outside the groups used the disk that the groups were to divide.",
        fingerprint: "The disk moved a tenth or more than the groups' counters say.",
        confirm: "The same while nothing else uses the disk: both amounts agree.",
        tests: &["direct"],
        effects: &[PredictedEffect::DIRECT],
        remedy: "A dedicated disk, or find out what writes (a journal, a flusher, a backup).",
        source: "/proc/diskstats beside the groups' own counters",
        ..CauseEntry::by_check("neighbours")
    },
    CauseEntry {
        code: "C-STEAL",
        what: "The hypervisor took CPU time away while the groups ran.",
        fingerprint: "`steal` of /proc/stat above a tenth of all CPUs (a twentieth where CPU time is divided).",
        confirm: "The same while the hypervisor's other guests rest.",
        tests: &["repeat"],
        remedy: "A quieter hypervisor, or dedicated CPUs for the guest.",
        source: "Documentation/filesystems/proc.rst: steal",
        ..CauseEntry::by_check("steal")
    },
    // CPU time and memory.
    CauseEntry {
        code: "C-CPU-IDLE",
        what: "The CPUs had nothing to run part of the time, so that there was nothing to divide.",
        fingerprint: "5 % or more of the groups' own CPUs idle while shares of CPU time are judged.",
        confirm: "More threads in each group: idle time vanishes and shares follow the weights.",
        remedy: "More busy threads than CPUs in every group.",
        source: "Documentation/scheduler/sched-design-CFS.rst: weights act on what is runnable",
        ..CauseEntry::by_check("cpu")
    },
    CauseEntry {
        code: "C-CPU-UNCONTENDED",
        what: "There is a CPU for every thread, so that the groups do not compete.",
        fingerprint: "No more threads than CPUs in all groups together.",
        confirm: "One CPU for all groups (`cpuset.cpus`): shares follow the weights.",
        tests: &["one-cpu"],
        effects: &[PredictedEffect::ONE_CPU],
        remedy: "More threads than CPUs, or fewer CPUs (`cpuset.cpus`).",
        source: "kernel/sched/fair.c: a weight is a part of a queue, and each CPU has its own",
        ..CauseEntry::by_check("cpu")
    },
    CauseEntry {
        code: "C-CPU-ROOM",
        what: "There was no room, or there were too few threads, to use a CPU quota in full.",
        fingerprint: "Less than 5 % idle, or fewer threads than the quota grants CPUs.",
        confirm: "Fewer other groups, or more threads: the quota is used up.",
        remedy: "Leave the CPUs room for all quotas together.",
        source: "Documentation/scheduler/sched-bwc.rst: a quota is an upper limit, no reservation",
        ..CauseEntry::by_check("cpu")
    },
    CauseEntry {
        code: "C-CPU-OTHERS",
        what: "Processes outside the groups, or the hypervisor, took CPU time that the groups were to divide.",
        fingerprint: "So much of the groups' CPUs was used by others, or stolen, that a share could shift by more than the margin on average, or more than five times the margin of a single CPU.",
        confirm: "The same on a quiet machine, or on CPUs that nothing else uses.",
        tests: &["one-cpu"],
        remedy: "Quiet the machine, or give the groups dedicated CPUs.",
        source: "/proc/stat: user, system and steal beside cpuacct of the groups",
        ..CauseEntry::by_check("others")
    },
    CauseEntry {
        code: "C-CPU-QUOTA",
        what: "A CPU quota bound, of a group or of one around the run, so that the quota divided the time and not the weights.",
        fingerprint: "nr_throttled grew in a group, or in one of the groups around the run's own.",
        confirm: "Without the quota shares follow the weights.",
        remedy: "Remove the quota, or judge it as a limit.",
        source: "Documentation/scheduler/sched-bwc.rst",
        ..CauseEntry::by_check("quota")
    },
    CauseEntry {
        code: "C-CPU-POLICY",
        what: "The threads of some groups are scheduled under another policy than those of the others, and policies come before weights.",
        fingerprint: "SCHED_FIFO, SCHED_RR, SCHED_DEADLINE or SCHED_IDLE in /proc/PID/stat of threads of some group and not of others, or `cpu.idle` of a group.",
        confirm: "The same without chrt or `cpu.idle`: shares follow the weights.",
        remedy: "The same policy in all groups.",
        source: "sched(7); Documentation/admin-guide/cgroup-v2.rst: cpu.weight concerns the fair classes, cpu.idle",
        ..CauseEntry::by_check("priority")
    },
    CauseEntry {
        code: "C-SCHED-EXT",
        what: "A BPF program schedules the CPUs, which need not obey weights.",
        fingerprint: "`/sys/kernel/sched_ext/state` reads enabled.",
        confirm: "The same without it: shares follow the weights.",
        remedy: "Unload it (end the program that loaded it), or judge what it promises itself.",
        source: "Documentation/scheduler/sched-ext.rst; ops.cgroup_set_weight is optional",
        ..CauseEntry::by_check("sched-ext")
    },
    CauseEntry {
        code: "C-MEMORY-FREE",
        what: "Memory was not short, so that a protection had nothing to protect from.",
        fingerprint: "No limit around the group was reached, those of inner groups not counted, and no group refaulted pages except those that its own limits took.",
        confirm: "A lower limit around the groups, or larger workloads: pages are reclaimed.",
        remedy: "Let the groups together need more memory than there is.",
        source: "Documentation/admin-guide/cgroup-v2.rst: memory.low acts on reclaim",
        ..CauseEntry::by_check("memory")
    },
    CauseEntry {
        code: "C-SWAP",
        what: "The host swapped, so that groups waited for memory and not for their share.",
        fingerprint: "`pswpin` and `pswpout` of /proc/vmstat grew by more than 256 pages a second.",
        confirm: "The same with less memory in use: the counters stand still.",
        tests: &["repeat"],
        remedy: "Less memory in use, or no swap (`swapoff`) for the run.",
        source: "Documentation/filesystems/proc.rst; sar -W",
        ..CauseEntry::by_check("swap")
    },
    // Threads and pages that are not where they were placed.
    CauseEntry {
        code: "C-PLACE-NOT-APPLIED",
        what: "No thread had the CPUs that the process was started with, or memory was allocated under no policy although one was set: the program, or what started it, changed them.",
        fingerprint: "Cpus_allowed_list of every thread differs from what was set, or areas in numa_maps show `default`.",
        confirm: "The same placement for a program that sets none (`assay-load spin`): it stays.",
        remedy: "Switch the program's own placement off, or place it by a cpuset, which it cannot leave.",
        source: "mmtests#21, stressapptest#118 (flags that do nothing)",
        ..CauseEntry::found_by(FoundBy::Observed)
    },
    CauseEntry {
        code: "C-PLACE-TOOL",
        what: "The program places some of its threads or memory itself.",
        fingerprint: "Some threads have other CPUs than the process was started with, or areas have a policy that only the program can have set.",
        confirm: "The same without the program's own options for placement.",
        remedy: "Switch the program's own placement off, or judge the placement that it requests.",
        source: "likwid#411: a measurement tool that pins the job again",
        ..CauseEntry::found_by(FoundBy::Observed)
    },
    CauseEntry {
        code: "C-PLACE-BLIND",
        what: "The program saw fewer nodes than the host has, so that its own options for nodes placed nothing.",
        fingerprint: "`nodes_seen` of the workload is less than the nodes with memory; its pages lie the same with each of the options.",
        confirm: "The same options on a machine with more nodes, or the memory bound by Assay: only the latter moves pages.",
        remedy: "Leave the options out and give the workload a `place`.",
        source: "stressapptest 1.0.6, src/os.cc and src/sat.cc: num_nodes_ is 1, and regions are pieces of physical memory",
        ..CauseEntry::found_by(FoundBy::Observed)
    },
    CauseEntry {
        code: "C-PLACE-FILES",
        what: "Pages of files were in the page cache before the program mapped them, on the node of their first reader.",
        fingerprint: "Mapped files, programs and libraries left out, have pages on other nodes than the policy, while anonymous memory is in place.",
        confirm: "`drop_caches = true`: the files are read anew, under the policy of the reader.",
        remedy: "Drop the caches before each repeat, or copy the file under the policy.",
        source: "mbind(2): a policy has no effect on existing page cache; Documentation/admin-guide/mm/numa_memory_policy.rst",
        ..CauseEntry::found_by(FoundBy::Suspicion)
    },
    CauseEntry {
        code: "C-PLACE-CPUSET",
        what: "The cpuset of the group leaves out nodes that the policy names.",
        fingerprint: "Mems_allowed_list of the threads lacks a node of the policy.",
        confirm: "A cpuset.mems with all nodes of the policy: pages arrive there.",
        remedy: "Widen cpuset.mems, or name only its nodes.",
        source: "set_mempolicy(2): nodes outside of the cpuset are ignored",
        ..CauseEntry::found_by(FoundBy::Observed)
    },
    CauseEntry {
        code: "C-PLACE-NODE-FULL",
        what: "A node was full, and its pages were allocated on another.",
        fingerprint: "numa_miss of another node and numa_foreign of this one grew.",
        confirm: "A smaller workload, or free memory on the node: the counters stand still.",
        remedy: "Free the node (drop caches), or bind instead of preferring.",
        source: "Documentation/admin-guide/numastat.rst",
        ..CauseEntry::found_by(FoundBy::Suspicion)
    },
    CauseEntry {
        code: "C-NUMA-BALANCING",
        what: "Automatic NUMA balancing moved pages.",
        fingerprint: "kernel.numa_balancing is on and numa_pages_migrated grew.",
        confirm: "`\"kernel.numa_balancing\" = 0` under [sysctls]: pages stay.",
        remedy: "Switch it off for the run, or bind the memory.",
        source: "Documentation/admin-guide/sysctl/kernel.rst: numa_balancing",
        ..CauseEntry::found_by(FoundBy::Suspicion)
    },
    // The run itself.
    CauseEntry {
        code: "C-WORKLOAD",
        what: "A workload of a measured group failed, or ended before the window did.",
        fingerprint: "The workload's own exit status or error, in its log.",
        confirm: "Run it alone with the command in the log.",
        remedy: "Fix the workload; its log is named in the evidence.",
        source: "The workload's own output",
        ..CauseEntry::by_check("workloads")
    },
    CauseEntry {
        code: "C-KNOB-DRIFT",
        what: "A knob did not hold the value that was set, from start to end.",
        fingerprint: "The file reads differently after writing, at the end, or at one of the readings about once a second.",
        confirm: "The same with nothing else that writes to the groups.",
        tests: &["repeat"],
        remedy: "Find out who writes it: systemd rewrites its slices on daemon-reload, container engines on update.",
        source: "systemd#40438, #17938 (values reset in mid-run), #27622 (200:300 became 109:118)",
        ..CauseEntry::by_check("knobs")
    },
    CauseEntry {
        code: "C-SETTING-DRIFT",
        what: "A setting of the host did not hold the value that was written, from start to end.",
        fingerprint: "The file reads differently after writing, at the end, or at one of the readings about once a second.",
        confirm: "The same with nothing else that writes host settings.",
        tests: &["repeat"],
        remedy: "Find out who writes it: tuned, sysctl.d, a container engine.",
        source: "Readings of the settings in the manifest",
        ..CauseEntry::by_check("settings")
    },
    CauseEntry {
        code: "C-OOM-KILLED",
        what: "The kernel killed a process of the workload for lack of memory: the limit ended the workload instead of slowing it down.",
        fingerprint: "oom_kill of the group's memory.events grew.",
        confirm: "A higher limit, or swap: the workload runs to its end.",
        remedy: "A higher memory limit, swap, or a smaller workload.",
        source: "Documentation/admin-guide/cgroup-v2.rst: memory.max, memory.events",
        ..CauseEntry::by_check("oom")
    },
    CauseEntry {
        code: "C-ALONE",
        what: "There is one measured group, which gets everything whatever its weight.",
        fingerprint: "Fewer than two measured groups that run.",
        confirm: "A second group.",
        remedy: "Measure two groups or more.",
        source: "A share of one is one",
        ..CauseEntry::by_check("alone")
    },
    CauseEntry {
        code: "C-WRONG-LEVEL",
        what: "The knob is set on groups inside those that compete with each other, where it divides nothing.",
        fingerprint: "Competing groups have no value of the knob, and a group inside one of them has.",
        confirm: "The same values one level up: shares follow them.",
        remedy: "Set the knob on the groups that are siblings (for containers: on the slice or scope, not inside).",
        source: "podman#24207, crun#1572: the weight was set on an inner group",
        ..CauseEntry::by_check("level")
    },
    CauseEntry {
        code: "C-LATE-START",
        what: "The groups did not start together, so that the first had the disk or the CPUs to itself.",
        fingerprint: "The first I/O of the last group came more than a twentieth of the window after that of the first.",
        confirm: "A longer run: the late start weighs less.",
        tests: &["longer"],
        remedy: "A longer run, or workloads that need less time to start (`prepare`).",
        source: "First I/O of each group in the samples",
        ..CauseEntry::by_check("start")
    },
    CauseEntry {
        code: "C-CLOCK",
        what: "The clock jumped, or the machine was stopped, while the repeat ran, so that rates are not what they seem.",
        fingerprint: "CPU seconds by second differ by more than a tenth between the halves of the window.",
        confirm: "The same on a machine that is not stopped, migrated or saved meanwhile.",
        tests: &["repeat"],
        remedy: "Repeat it; keep the guest from being stopped or migrated.",
        source: "/proc/stat adds up to the number of CPUs by CLOCK_MONOTONIC",
        ..CauseEntry::by_check("clock")
    },
    CauseEntry {
        code: "C-UNKNOWN",
        what: "None of the known causes fits what was recorded.",
        fingerprint: "What was ruled out, and what could not be examined, with figures.",
        confirm: "`assay diagnose RUN` tries every intervention that the host allows.",
        tests: &[
            "requests",
            "iodepth",
            "room",
            "strict",
            "low-latency",
            "slice-idle",
            "rotational",
            "longer",
            "one-cpu",
            "slower",
            "scheduler",
            "permute",
        ],
        remedy: "Report it with the run folder: it may be a new cause.",
        source: "The list of what was examined",
        ..CauseEntry::found_by(FoundBy::Rest)
    },
];
