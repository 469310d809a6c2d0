//! Causes of schedulers that few kernels have, and of other users of the disk.

use super::{CauseEntry, Expect, FoundBy, PredictedEffect};

pub(super) static ENTRIES: &[CauseEntry] = &[
    CauseEntry {
        code: "C-DISK-OTHERS",
        what: "Processes outside the groups used the disk that the groups were to divide.",
        found_by: FoundBy::ValidityCheck("neighbours"),
        fingerprint: "The disk moved a tenth or more than the groups' counters say.",
        confirm: "The same while nothing else uses the disk: both amounts agree.",
        tests: &["direct"],
        effects: &[PredictedEffect {
            of: &["direct"],
            expect: Expect::Vanishes,
            why: "every group moves its own bytes",
        }],
        remedy: "A dedicated disk, or find out what writes (a journal, a flusher, a backup).",
        source: "/proc/diskstats beside the groups' own counters",
    },
    CauseEntry {
        code: "C-STEAL",
        what: "The hypervisor took CPU time away while the groups ran.",
        found_by: FoundBy::ValidityCheck("steal"),
        fingerprint: "`steal` of /proc/stat above a tenth of all CPUs (a twentieth where CPU time is divided).",
        confirm: "The same while the hypervisor's other guests rest.",
        tests: &["repeat"],
        effects: &[],
        remedy: "A quieter hypervisor, or dedicated CPUs for the guest.",
        source: "Documentation/filesystems/proc.rst: steal",
    },
];
