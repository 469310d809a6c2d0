//! What is known of kernels by their version, or by a sign in their types: promises that some break, and readings that
//! mean something else.

use std::collections::BTreeMap;
use std::fmt;

use crate::finding::Reading;
use crate::snapshot::Machine;

/// A release: major, minor and patch.
type Version = (u32, u32, u32);

/// Something that is known of some kernels.
#[derive(Debug)]
pub struct KnownOfKernel {
    /// Its code, as the rule of `assay audit` that uses it, if there is one.
    pub code: &'static str,
    /// Kernels that have it: from the first to before the second, or to the newest.
    affected: &'static [(Version, Option<Version>)],
    /// What shows it whatever the version says: distributions mend older kernels.
    pub sign: Option<Sign>,
    /// What such a kernel does, and under what condition: the table does not know what this host has.
    pub sentence: &'static str,
    /// What of Assay shows it: cases of `assay conform`, causes, rules.
    pub shown_by: &'static str,
    /// Commits and documents.
    pub source: &'static str,
}

/// A sign in the kernel's types: whether two members of a structure share their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// The structure.
    pub structure: &'static str,
    /// The members, which a kernel that has it keeps in a union.
    pub members: [&'static str; 2],
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.members;
        write!(f, "{}: {one} is {other}", self.structure)
    }
}

/// Why a kernel counts as having it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// By its version: distributions may have mended theirs.
    Version,
    /// By the sign.
    Sign,
}

/// A group with many wake-ups starves others.
pub(crate) static REWEIGHT: KnownOfKernel = KnownOfKernel {
    code: "A-KERNEL-REWEIGHT",
    affected: &[((6, 13, 0), Some((6, 18, 45))), ((6, 19, 0), Some((7, 1, 0)))],
    sign: Some(Sign { structure: "sched_entity", members: ["vlag", "vprot"] }),
    sentence: "a group whose tasks wake each other tens of thousands of times a second on two CPUs can leave the others \
               without any CPU for seconds, whatever the weights",
    shown_by: "cpu/a-storm-of-wakeups-leaves-siblings-the-cpu, A-KERNEL-REWEIGHT, docs/findings/wakeup-storm.md",
    source: "introduced by 6d71a9c61604 (6.13), reverted by 101f3498b4bd (7.1, 6.18.45)",
};

/// `memory.low` under the multi-generational LRU.
pub(crate) static LOW_LRU_GEN: KnownOfKernel = KnownOfKernel {
    code: "A-LOW-LRU-GEN",
    // Seen on 6.12.117 and 6.16.12; 6.17.13, 6.18.15, 7.2.13 and 7.3.4 keep it, although the list of groups is still there.
    affected: &[((6, 3, 0), Some((6, 17, 0)))],
    sign: None,
    sentence: "where the multi-generational LRU is on, memory.low does not hold while the whole machine is short of memory: \
               such a group is passed over once, and then loses as much as others",
    shown_by: "memory/low-holds-while-the-machine-is-short, A-LOW-LRU-GEN, docs/findings/memory-low-lru-gen.md",
    source: "e4dde56cd208 (6.3); shrink_one() of mm/vmscan.c",
};

/// Everything that is known, controller by controller.
pub static KNOWN: &[&KnownOfKernel] = &[
    &REWEIGHT,
    &KnownOfKernel {
        code: "K-IDLE-WEIGHT-0",
        affected: &[((5, 15, 0), Some((6, 12, 0)))],
        sign: None,
        sentence: "cpu.weight of a group with cpu.idle 1 reads 0, below its own range; since 6.12 it reads 1",
        shown_by: "assay host --knobs-check",
        source: "kernel/sched/core.c, cpu_weight_read_u64",
    },
    &KnownOfKernel {
        code: "K-BFQ-WAKER",
        affected: &[((5, 12, 0), None)],
        sign: None,
        sentence: "on a disk under BFQ one group may be taken for another's waker, and is then served in the other's turns: weights \
                   stop acting",
        shown_by: "io/bfq-weights-hold-after-pauses, C-WAKER, docs/findings/bfq-waker.md",
        source: "d4fc3640ff36 made the injection of 13a857a4c4e8 act",
    },
    &KnownOfKernel {
        code: "K-BFQ-UNCHARGED",
        affected: &[((5, 13, 0), Some((5, 17, 0)))],
        sign: None,
        sentence: "on a disk under BFQ requests of a waker are sent to the disk without charging its group",
        shown_by: "C-WAKER",
        source: "7cc4ffc55564, removed by c65e6fd460b4; stable trees have it back to 5.15",
    },
    &KnownOfKernel {
        code: "K-BFQ-CAP",
        affected: &[((5, 17, 0), Some((6, 17, 0)))],
        sign: None,
        sentence: "on a disk under BFQ a group has only its weight's part of the request pool: with more requests outstanding it \
                   gets less than its share",
        shown_by: "io/bfq-weights-hold-beyond-their-part-of-its-pool, C-TAG-CAP, docs/findings/bfq-cap.md",
        source: "76f1df88bbc2",
    },
    &KnownOfKernel {
        code: "K-BFQ-CAP-STRICT",
        affected: &[((6, 17, 0), None)],
        sign: None,
        sentence: "on a disk under BFQ a group has only its weight's part of the request pool, and one place of the whole pool \
                   above it (before 6.17: one of each word)",
        shown_by: "io/bfq-weights-hold-beyond-their-part-of-its-pool, C-TAG-CAP, docs/findings/bfq-cap.md",
        source: "76f1df88bbc2, 42e6c6ce03fd",
    },
    &KnownOfKernel {
        code: "K-V1-IO-COUNTERS",
        affected: &[((5, 16, 0), Some((6, 5, 0)))],
        sign: None,
        sentence: "where the io controller is on v1, blkio.throttle.io_service_bytes and io_serviced count nothing of a group \
                   without a limit",
        shown_by: "io/stat-counts-what-was-read, docs/findings/v1-io-counters.md",
        source: "a7b36ee6ba29 (5.16), mended by ad7c3b41e86b (6.5)",
    },
    &LOW_LRU_GEN,
    &KnownOfKernel {
        code: "K-MEMSW-FAILCNT",
        affected: &[((6, 15, 0), None)],
        sign: None,
        sentence: "where the memory controller is on v1, memory.memsw.failcnt does not count that the limit of memory and swap \
                   was met",
        shown_by: "memory/memsw-limit-holds-and-counts",
        source: "found here: docs/findings/memsw-failcnt.md; by \"page_counter: track failcnt only for legacy cgroups\"",
    },
];

/// What is known of a kernel, by its release and by the signs in its types; `None` for a sign that cannot be read, or is
/// not in these types.
pub fn known_of(
    release: &str,
    sign: impl Fn(&Sign) -> Option<bool>,
) -> Vec<(&'static KnownOfKernel, KnownBy)> {
    let applies = |known: &&'static KnownOfKernel| {
        let seen = known.sign.as_ref().and_then(&sign);
        Some((*known, known.known_by(release, seen)?))
    };
    KNOWN.iter().filter_map(applies).collect()
}

/// By code which signs a kernel's types show; without a sign that cannot be read, or is not in these types.
pub fn signs(sign: impl Fn(&Sign) -> Option<bool>) -> BTreeMap<String, bool> {
    let seen = |known: &&KnownOfKernel| Some((known.code.to_owned(), sign(known.sign.as_ref()?)?));
    KNOWN.iter().filter_map(seen).collect()
}

impl KnownOfKernel {
    /// Why a kernel of this release counts as having it, if it does. `seen`, whether its types show the sign, counts more
    /// than the number.
    pub(crate) fn known_by(&self, release: &str, seen: Option<bool>) -> Option<KnownBy> {
        match seen {
            Some(seen) => seen.then_some(KnownBy::Sign),
            None => self.affects(release).then_some(KnownBy::Version),
        }
    }

    /// The reading that says that this machine's kernel has it, if it has.
    pub(crate) fn reading(&self, machine: &Machine) -> Option<Reading> {
        let release = machine.kernel.value().map_or("", String::as_str);
        let by = self.known_by(release, machine.signs.get(self.code).copied())?;
        Some(match (by, self.sign) {
            (KnownBy::Sign, Some(sign)) => {
                Reading::new("/sys/kernel/btf/vmlinux", sign.to_string())
            }
            _ => Reading::new("/proc/sys/kernel/osrelease", release),
        })
    }

    /// Whether a kernel of this release has it, unless its distribution has mended it.
    #[must_use]
    pub fn affects(&self, release: &str) -> bool {
        let Some(version) = version(release) else { return false };
        let is_in = |(first, end): &(Version, Option<Version>)| {
            *first <= version && end.is_none_or(|end| version < end)
        };
        self.affected.iter().any(is_in)
    }
}

/// The numbers of `6.18.44-fc-v669`.
fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok);
    Some((next()?, next()?, next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(release: &str, sign: Option<bool>) -> Vec<&'static str> {
        known_of(release, |_| sign).into_iter().map(|(known, _)| known.code).collect()
    }

    #[test]
    fn kernels_that_may_starve_are_known_by_their_number() {
        for (release, affected) in [
            ("6.12.117-amd64", false),
            ("6.13.0", true),
            ("6.18.44-fc", true),
            ("6.18.45", false),
            ("6.19.1", true),
            ("7.0.3", true),
            ("7.1.0", false),
            ("6.1.0-18-amd64", false),
            ("unknown", false),
        ] {
            assert_eq!(REWEIGHT.affects(release), affected, "{release}");
        }
    }

    #[test]
    fn a_sign_counts_more_than_the_number() {
        assert!(codes("6.18.44", None).contains(&"A-KERNEL-REWEIGHT"));
        assert!(!codes("6.18.44", Some(false)).contains(&"A-KERNEL-REWEIGHT"), "mended");
        assert!(codes("6.6.30", Some(true)).contains(&"A-KERNEL-REWEIGHT"), "carries the fault");
        let (_, by) = known_of("6.18.44", |_| Some(true))[0];
        assert_eq!(by, KnownBy::Sign);
    }

    #[test]
    fn a_sign_is_shown_with_its_members() {
        let sign = REWEIGHT.sign.map(|sign| sign.to_string());
        assert_eq!(sign.as_deref(), Some("sched_entity: vlag is vprot"));
    }

    #[test]
    fn protection_that_reclaim_ignores_is_known_by_its_number() {
        let seen =
            ["6.1.0-56-amd64", "6.12.117", "6.16.12", "6.17.13", "6.18.15", "7.2.13", "7.3.4"];
        let affected = seen.map(|release| LOW_LRU_GEN.affects(release));
        assert_eq!(affected, [false, true, true, false, false, false, false]);
    }

    #[test]
    fn each_kernel_has_at_most_one_cap_and_codes_are_unique() {
        let caps = |release: &str| {
            codes(release, None).into_iter().filter(|code| code.starts_with("K-BFQ-CAP")).count()
        };
        assert_eq!(["5.10.0", "5.17.0", "6.16.9", "6.17.0"].map(caps), [0, 1, 1, 1]);
        let mut all: Vec<&str> = KNOWN.iter().map(|known| known.code).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), KNOWN.len());
    }
}
