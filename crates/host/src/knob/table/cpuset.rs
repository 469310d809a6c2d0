//! CPUs and memory nodes.

use crate::knob::entry::build::{reading, setting};
use crate::knob::entry::{Knob, Unit};
use crate::knob::file::{old_read_only, old_read_write, read_only, read_write};
use crate::knob::range::ValueRange as R;

const CPUSET: &str = "cpuset";
const ALWAYS: &str = "always enabled on v2";
const NO_SUCH: &str = "v2 has no equivalent";

pub(super) const SOURCE: &str = "cgroup-v2.rst, \"Cpuset Interface Files\"; cgroup-v1/cpusets.rst; kernel/cgroup/cpuset.c (dfl_files, legacy_files)";

pub(super) static KNOBS: &[Knob] = &[
    setting("cpuset.cpus", CPUSET, Unit::Ids, R::IdList)
        .v2(read_write(5, 0).inside().reads(""))
        .v1(old_read_write(24).reads(""))
        .about("CPUs on which a group may run"),
    setting("cpuset.mems", CPUSET, Unit::Ids, R::IdList)
        .v2(read_write(5, 0).inside().reads(""))
        .v1(old_read_write(24).reads(""))
        .about("memory nodes from which a group may allocate; on v2 a change moves its pages"),
    reading("cpuset.cpus.effective", CPUSET, Unit::Ids)
        .v2(read_only(5, 0))
        .as_files(&["cpuset.effective_cpus"])
        .about("CPUs granted to the group"),
    reading("cpuset.mems.effective", CPUSET, Unit::Ids)
        .v2(read_only(5, 0))
        .as_files(&["cpuset.effective_mems"])
        .about("memory nodes granted to the group"),
    reading("cpuset.effective_cpus", CPUSET, Unit::Ids)
        .v1(read_only(3, 17))
        .as_files(&["cpuset.cpus.effective"])
        .about("CPUs granted to the group"),
    reading("cpuset.effective_mems", CPUSET, Unit::Ids)
        .v1(read_only(3, 17))
        .as_files(&["cpuset.mems.effective"])
        .about("memory nodes granted to the group"),
    setting("cpuset.cpus.partition", CPUSET, Unit::Word, PARTITION)
        .v2(read_write(5, 0).inside().reads("member"))
        .without_counterpart(
            "v1 has separate files: `cpuset.cpu_exclusive`, `cpuset.sched_load_balance`",
        )
        .about("whether the CPUs are taken from sibling groups and balanced separately"),
    setting("cpuset.cpus.exclusive", CPUSET, Unit::Ids, R::IdList)
        .v2(read_write(6, 7).inside().reads(""))
        .as_files(&["cpuset.cpu_exclusive"])
        .about("CPUs that no sibling group may claim, for a partition further down"),
    reading("cpuset.cpus.exclusive.effective", CPUSET, Unit::Ids)
        .v2(read_only(6, 7).inside().reads(""))
        .without_counterpart("v1 grants them as a whole: `cpuset.cpu_exclusive`")
        .about("CPUs that the group can give to a partition"),
    reading("cpuset.cpus.isolated", CPUSET, Unit::Ids)
        .v2(read_only(6, 7).root_only())
        .without_counterpart("v1 has no isolated partitions")
        .about("CPUs in isolated partitions"),
    setting("cpuset.cpu_exclusive", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("0"))
        .as_files(&["cpuset.cpus.exclusive"])
        .about("whether sibling groups are denied the same CPUs"),
    setting("cpuset.mem_exclusive", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("0"))
        .without_counterpart(NO_SUCH)
        .about("whether sibling groups are denied the same memory nodes"),
    setting("cpuset.mem_hardwall", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(26).reads("0"))
        .without_counterpart(NO_SUCH)
        .about("whether kernel memory is restricted to the nodes too"),
    setting("cpuset.memory_migrate", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("0"))
        .without_counterpart(ALWAYS)
        .about("whether pages move when `cpuset.mems` changes"),
    setting("cpuset.memory_spread_page", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("0"))
        .without_counterpart(NO_SUCH)
        .about("whether the page cache is spread evenly over the nodes"),
    setting("cpuset.memory_spread_slab", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("0"))
        .without_counterpart(NO_SUCH)
        .about("whether inode and dentry caches are spread evenly over the nodes"),
    setting("cpuset.sched_load_balance", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).reads("1"))
        .without_counterpart("v2 has partitions instead: `cpuset.cpus.partition`")
        .about("whether the scheduler balances load among the CPUs of the group"),
    setting(
        "cpuset.sched_relax_domain_level",
        CPUSET,
        Unit::Count,
        R::Integer { low: -1, high: 5 },
    )
    .v1(old_read_write(26).reads("-1"))
    .without_counterpart(NO_SUCH)
    .about("how far the scheduler looks for an idle CPU"),
    reading("cpuset.memory_pressure", CPUSET, Unit::Count)
        .v1(old_read_only(24).reads("0"))
        .without_counterpart("v2 has `memory.pressure`")
        .about("rate at which tasks of the group reclaim memory, times 1000"),
    setting("cpuset.memory_pressure_enabled", CPUSET, Unit::Switch, R::Switch)
        .v1(old_read_write(24).root_only())
        .without_counterpart("v2 has `memory.pressure`")
        .about("whether `cpuset.memory_pressure` is counted"),
];

/// `isolated` since 6.1 (Documentation/admin-guide/cgroup-v2.rst, Cpuset).
const PARTITION: R = R::Words(&["member", "root", "isolated"]);
