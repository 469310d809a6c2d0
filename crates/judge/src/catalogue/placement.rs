//! Causes of threads and pages that are not where they were put.

use super::{CauseEntry, FoundBy};

pub(super) static ENTRIES: &[CauseEntry] = &[
    CauseEntry {
        code: "C-PLACE-NOT-APPLIED",
        what: "No thread had the CPUs, or no memory the policy, that the process was started with: the program, or what started it, set others.",
        found_by: FoundBy::Observed,
        fingerprint: "Cpus_allowed_list of every thread, or the policy of every area in numa_maps, differs from what was set.",
        confirm: "The same place for a program that sets none (`assay-load spin`): it stays.",
        tests: &[],
        remedy: "Switch the program's own placement off, or place it by a cpuset, which it cannot leave.",
        source: "mmtests#21, stressapptest#118 (flags that do nothing)",
    },
    CauseEntry {
        code: "C-PLACE-TOOL",
        what: "The program places some of its threads or memory by itself.",
        found_by: FoundBy::Observed,
        fingerprint: "Some threads have other CPUs, or some areas another policy, than the process was started with.",
        confirm: "The same without the program's own options for placement.",
        tests: &[],
        remedy: "Switch the program's own placement off, or judge the placement that it asks for.",
        source: "likwid#411: a measurement tool that pins the job again",
    },
    CauseEntry {
        code: "C-PLACE-CPUSET",
        what: "The cpuset of the group leaves out nodes that the policy names.",
        found_by: FoundBy::Observed,
        fingerprint: "Mems_allowed_list of the threads lacks a node of the policy.",
        confirm: "A cpuset.mems with all nodes of the policy: pages arrive there.",
        tests: &[],
        remedy: "Widen cpuset.mems, or name only its nodes.",
        source: "set_mempolicy(2): nodes outside of the cpuset are ignored",
    },
    CauseEntry {
        code: "C-PLACE-NODE-FULL",
        what: "A node was full, and pages that it should have given came from another.",
        found_by: FoundBy::Suspicion,
        fingerprint: "numa_miss of another node and numa_foreign of this one grew.",
        confirm: "A smaller workload, or free memory on the node: the counters stand still.",
        tests: &[],
        remedy: "Free the node (drop caches), or bind instead of preferring.",
        source: "Documentation/admin-guide/numastat.rst",
    },
    CauseEntry {
        code: "C-PLACE-BALANCED",
        what: "Automatic NUMA balancing moved pages.",
        found_by: FoundBy::Suspicion,
        fingerprint: "kernel.numa_balancing is on and numa_pages_migrated grew.",
        confirm: "`\"kernel.numa_balancing\" = 0` under [sysctls]: pages stay.",
        tests: &[],
        remedy: "Switch it off for the run, or bind the memory.",
        source: "Documentation/admin-guide/sysctl/kernel.rst: numa_balancing",
    },
];
