//! Who the waiting of a group went to: from what the eBPF programs of `assay blame` counted to an answer.
//!
//! Whenever a thread of the group could run and did not, its time is charged to what its CPU did then. The
//! sum is held against what the kernel itself counted (`run_delay`, Documentation/scheduler/sched-stats.rst);
//! if they differ by more than [`TOLERANCE`], the answer is void. [`watch`] attaches the programs, [`collect`] does what
//! the command asks; all else is pure.

mod answer;
pub mod collect;
mod counted;
mod culprit;
mod disk;
mod evidence;
mod longest;
mod part;
mod stall;
mod text;
mod thread_time;
mod waits;
pub mod watch;

pub use answer::{Answer, Cost, CpuPart, Events, Frozen, SCHEMA, Verdict};
pub use counted::{Counted, CountedCpu, LongWait, Memory, Segment, Shape, TOLERANCE, Target};
pub use culprit::{Culprit, FIRST_GROUP, GROUPS, Names, OWN};
pub use disk::{
    Bfq, BfqCounted, BfqGroup, Bond, DISK_SCHEMA, DISK_TOLERANCE, DISKS, Dirtied, DiskAnswer,
    DiskCost, DiskCounted, DiskEvents, DiskGroup, DiskNames, DiskWindow, GroupCounted, Injected,
    Layout, MemberCounted, OTHER_GROUPS, PlaceWait, ROOT_GROUP, Served, Stage, TAGS, disk_text,
    disks_text,
};
pub use evidence::{EVIDENCE_SCHEMA, Evidence};
pub use longest::{LongestWait, Ran};
pub use part::Part;
pub use stall::{
    GROUP_NUMBERS, KERNEL_NUMBER, KSWAPD_NUMBER, MEMORY_SCHEMA, MEMORY_TOLERANCE, MemoryAnswer,
    Pages, Reclaimer, Stall, StallCounted, StallPart, WATCHED, memory_text,
};
pub use text::text;
pub use thread_time::{Blocked, BlockedOn, ThreadTime};
pub use waits::{Bucket, Waits};
