//! What is known of kernels by their version, or by a sign in their types or functions: promises that some break, and readings
//! that mean something else.

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
    /// What shows it whatever the version says: distributions mend older kernels, and carry faults of newer ones.
    pub sign: Option<Sign>,
    /// Functions that only kernels without it have. One in /proc/kallsyms proves that; none proves nothing, since compilers inline.
    pub mended_by: &'static [&'static str],
    /// What such a kernel does, and under what condition: the table does not know what this host has.
    pub sentence: &'static str,
    /// What of Assay shows it: cases of `assay conform`, causes, rules.
    pub shown_by: &'static str,
    /// Commits and documents.
    pub source: &'static str,
}

impl fmt::Display for KnownOfKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, sentence, shown_by, source, .. } = self;
        write!(f, "{code}: known of some kernels\n\n{sentence}\n\nKernels:  ")?;
        for (index, (from, to)) in self.affected.iter().enumerate() {
            let part = if index == 0 { "" } else { ", " };
            let dots = |(major, minor, patch): &Version| match patch {
                0 => format!("{major}.{minor}"),
                _ => format!("{major}.{minor}.{patch}"),
            };
            match to {
                Some(to) => write!(f, "{part}{} to before {}", dots(from), dots(to))?,
                None => write!(f, "{part}since {}", dots(from))?,
            }
        }
        if let Some(sign) = self.sign {
            write!(f, "; or by its types: {sign}")?;
        }
        writeln!(f, "\nShown by: {shown_by}\nSource:   {source}")
    }
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

/// One that nothing but its version shows.
const BY_VERSION: KnownOfKernel = KnownOfKernel {
    code: "",
    affected: &[],
    sign: None,
    mended_by: &[],
    sentence: "",
    shown_by: "",
    source: "",
};

/// A group with many wake-ups starves others.
pub(crate) static REWEIGHT: KnownOfKernel = KnownOfKernel {
    code: "A-KERNEL-REWEIGHT",
    affected: &[((6, 13, 0), Some((6, 18, 45))), ((6, 19, 0), Some((7, 1, 0)))],
    sign: Some(Sign { structure: "sched_entity", members: ["vlag", "vprot"] }),
    mended_by: &["rescale_entity", "reweight_eevdf"],
    sentence: "a group whose tasks wake each other tens of thousands of times a second on two CPUs can leave the others \
               without any CPU for seconds, whatever the weights",
    shown_by: "cpu/a-storm-of-wakeups-leaves-siblings-the-cpu, A-KERNEL-REWEIGHT, docs/findings/wakeup-storm",
    source: "introduced by 6d71a9c61604 (6.13), reverted by 101f3498b4bd (7.1, 6.18.45); kernel/sched/fair.c: reweight_eevdf of 6.12.117, \
             rescale_entity of 7.2.13 and 7.3.4",
};

/// `memory.low` under the multi-generational LRU.
pub(crate) static LOW_LRU_GEN: KnownOfKernel = KnownOfKernel {
    code: "A-LOW-LRU-GEN",
    // Seen on 6.12.117 and 6.16.12; 6.17.13, 6.18.15, 7.2.13 and 7.3.4 keep it, although the list of groups is still there.
    affected: &[((6, 3, 0), Some((6, 17, 0)))],
    sign: None,
    mended_by: &["apply_proportional_protection"],
    sentence: "where the multi-generational LRU is on, memory.low does not hold while the whole machine is short of memory: \
               such a group is passed over once, and then loses as much as others",
    shown_by: "memory/low-holds-while-the-machine-is-short, A-LOW-LRU-GEN, docs/findings/memory-low-lru-gen",
    source: "e4dde56cd208 (6.3); mm/vmscan.c: shrink_one of 6.12.117; mended by \"mm: vmscan: apply proportional reclaim pressure for memcg \
             when MGLRU is enabled\" (6.17): apply_proportional_protection of 7.2.13 and 7.3.4; direct reclaim also needs \
             \"mm/mglru: fix ineffective memory protection for non-kswapd reclaim\" (7.3.4 has it, others were not looked at)",
};

/// Everything that is known, controller by controller.
pub static KNOWN: &[&KnownOfKernel] = &[
    &REWEIGHT,
    &KnownOfKernel {
        code: "K-IDLE-WEIGHT",
        affected: &[((6, 12, 0), None)],
        sentence: "cpu.weight of a group with cpu.idle 1 reads 1, where cgroup-v2.rst promises 0 (and 5.15 to 6.11 read 0)",
        shown_by: "cpu/the-weight-of-an-idle-group-reads-0",
        source: "cgroup-v2.rst, \"cpu.weight\"; kernel/sched/sched.h of 6.12.117: sched_weight_to_cgroup clamps to 1; \
                 kernel/sched/core.c of 6.1.192: cpu_weight_read_u64 does not",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-BFQ-WAKER",
        affected: &[((5, 12, 0), None)],
        sentence: "on a disk under BFQ one group may be taken for another's waker, and is then served in the other's turns: weights \
                   stop acting",
        shown_by: "io/bfq-weights-hold-after-pauses, C-WAKER, docs/findings/bfq-waker",
        source: "d4fc3640ff36 made the injection of 13a857a4c4e8 act",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-BFQ-UNCHARGED",
        affected: &[((5, 13, 0), Some((5, 17, 0)))],
        sentence: "on a disk under BFQ requests of a waker are sent to the disk without charging its group",
        shown_by: "C-WAKER",
        source: "7cc4ffc55564, removed by c65e6fd460b4; stable trees have it back to 5.15",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-BFQ-CAP",
        affected: &[
            ((5, 17, 0), Some((6, 12, 43))),
            ((6, 13, 0), Some((6, 15, 11))),
            ((6, 16, 0), Some((6, 16, 2))),
        ],
        sentence: "on a disk under BFQ a group has only its weight's part of the request pool: with more requests outstanding it \
                   gets less than its share",
        shown_by: "io/bfq-weights-hold-beyond-their-part-of-its-pool, C-TAG-CAP, docs/findings/bfq-cap",
        source: "76f1df88bbc2 (5.17); block/bfq-iosched.c: bfq_limit_depth",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-BFQ-CAP-STRICT",
        affected: &[
            ((6, 12, 43), Some((6, 13, 0))),
            ((6, 15, 11), Some((6, 16, 0))),
            ((6, 16, 2), None),
        ],
        sentence: "on a disk under BFQ a group has only its weight's part of the request pool, and all groups above their parts have one \
                   place of the whole pool, the first (before: one of each word)",
        shown_by: "io/bfq-weights-hold-beyond-their-part-of-its-pool, C-TAG-CAP, docs/findings/bfq-cap (6.12.117 with and without)",
        source: "76f1df88bbc2 (5.17), 42e6c6ce03fd (6.17; 6.12.43 by the changelog of Debian's 6.12.43-1; 6.15.11 and 6.16.2 not verified); \
                 lib/sbitmap.c of 6.12.117: __map_depth_with_shallow",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-BFQ-STALE-DEPTH",
        affected: &[
            ((6, 12, 43), Some((6, 13, 0))),
            ((6, 15, 11), Some((6, 16, 0))),
            ((6, 16, 2), Some((6, 17, 0))),
        ],
        sentence: "on a disk under BFQ a change of nr_requests leaves the limits of writes and of asynchronous requests as for the pool before; \
                   written again after a neighbouring value, they are off by one place at most",
        shown_by: "docs/findings/bfq-stale-depths (6.12.117 with and without the mend, 6.16.12, 6.17.13)",
        source: "42e6c6ce03fd without 7d337eef4aff (\"blk-mq: fix elevator depth_updated method\"); block/blk-mq.c of 6.12.117: \
                 blk_mq_update_nr_requests calls depth_updated before it sets nr_requests; seen on 6.12.117 and 6.16.12, not on 6.17.13; \
                 6.15.11 and 6.16.2 not verified",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-DEADLINE-STALE-DEPTH",
        // Debian calls each 6.1.y 6.1.0. 6.2 to 6.9 were not looked at; 5.10 has no such limit, 6.17.13, 6.18.15 and 7.3.4 keep it up to date.
        affected: &[((6, 1, 0), Some((6, 2, 0))), ((6, 10, 0), Some((6, 17, 0)))],
        sentence: "on a disk under mq-deadline a change of nr_requests leaves the limit of writes as for the pool before; \
                   the same value written to iosched/async_depth sets it",
        shown_by: "docs/findings/bfq-stale-depths (6.12.117 with and without the mend, 6.1.192, 6.17.13)",
        source: "block/mq-deadline.c of 6.12.117: dd_depth_updated reads nr_requests, with this effect since 39823b47bbd4 (6.10; 6.1.192 has it), and \
                 blk_mq_update_nr_requests sets it afterwards; mended by 7d337eef4aff (6.17)",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-V1-IO-COUNTERS",
        affected: &[((5, 16, 0), Some((6, 5, 0)))],
        sentence: "where the io controller is on v1, blkio.throttle.io_service_bytes and io_serviced count nothing of a group \
                   without a limit",
        shown_by: "io/stat-counts-what-was-read, io/stat-counts-without-any-limit, docs/findings/v1-io-counters",
        source: "a7b36ee6ba29 (5.16), mended by ad7c3b41e86b (6.5)",
        ..BY_VERSION
    },
    &KnownOfKernel {
        code: "K-V1-IO-COUNTERS-OFF",
        affected: &[((6, 10, 0), None)],
        sentence: "where the io controller is on v1, blkio.throttle.io_service_bytes and io_serviced count nothing of a disk until some \
                   group has had a limit for it",
        shown_by: "io/stat-counts-without-any-limit, docs/findings/v1-io-counters",
        source: "a3166c51702b (6.10); block/blk-throttle.h of 7.2.13: blk_should_throtl asks blk_throtl_activated before it counts",
        ..BY_VERSION
    },
    &LOW_LRU_GEN,
    &KnownOfKernel {
        code: "K-MEMSW-FAILCNT",
        // 7.1 was not looked at.
        affected: &[((6, 15, 0), Some((7, 2, 0)))],
        sentence: "where the memory controller is on v1, memory.memsw.failcnt does not count that the limit of memory and swap \
                   was met",
        shown_by: "memory/memsw-limit-holds-and-counts, docs/findings/memsw-failcnt",
        source: "\"page_counter: track failcnt only for legacy cgroups\" (6.15); mm/memcontrol.c of 7.2.13 and 7.3.4 sets track_failcnt of memsw \
                 and tcpmem too",
        ..BY_VERSION
    },
];

/// Where signs of a kernel can be looked for.
pub trait Signs {
    /// Whether the members share their place; `None` if that cannot be read, or the kernel has no such members.
    fn shares_place(&self, sign: &Sign) -> Option<bool>;
    /// Whether the kernel has one of these functions.
    fn has_function(&self, names: &[&str]) -> bool;
}

/// What is known of a kernel, by its release and by its signs.
pub fn known_of(release: &str, signs: &impl Signs) -> Vec<(&'static KnownOfKernel, KnownBy)> {
    let applies = |known: &&'static KnownOfKernel| {
        Some((*known, known.known_by(release, known.seen(release, signs))?))
    };
    KNOWN.iter().filter_map(applies).collect()
}

/// By code what a kernel's signs show, without what they do not tell.
pub fn signs(release: &str, signs: &impl Signs) -> BTreeMap<String, bool> {
    let seen = |known: &&KnownOfKernel| Some((known.code.to_owned(), known.seen(release, signs)?));
    KNOWN.iter().filter_map(seen).collect()
}

impl KnownOfKernel {
    /// Whether its signs show that a kernel has it; `None` if they do not tell. Functions are looked for only where it would have it otherwise:
    /// there are a hundred thousand.
    fn seen(&self, release: &str, signs: &impl Signs) -> Option<bool> {
        let shares = self.sign.as_ref().and_then(|sign| signs.shares_place(sign));
        let is_mended = !self.mended_by.is_empty()
            && shares.unwrap_or_else(|| self.affects(release))
            && signs.has_function(self.mended_by);
        if is_mended { Some(false) } else { shares }
    }

    /// Why a kernel of this release counts as having it, if it does. `seen`, what its signs show, counts more than the number.
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

    /// What the types say, and the functions.
    struct Kernel(Option<bool>, &'static [&'static str]);

    impl Signs for Kernel {
        fn shares_place(&self, _: &Sign) -> Option<bool> {
            self.0
        }

        fn has_function(&self, names: &[&str]) -> bool {
            names.iter().any(|name| self.1.contains(name))
        }
    }

    fn codes_of(release: &str, kernel: &Kernel) -> Vec<&'static str> {
        known_of(release, kernel).into_iter().map(|(known, _)| known.code).collect()
    }

    fn codes(release: &str, sign: Option<bool>) -> Vec<&'static str> {
        codes_of(release, &Kernel(sign, &[]))
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
        let (_, by) = known_of("6.18.44", &Kernel(Some(true), &[]))[0];
        assert_eq!(by, KnownBy::Sign);
    }

    /// As a distribution's kernel that has a fix before its number says so.
    #[test]
    fn a_function_that_came_with_the_fix_proves_it_and_a_missing_one_nothing() {
        for (release, code, function) in [
            ("6.12.200", "A-LOW-LRU-GEN", &["apply_proportional_protection"][..]),
            ("6.18.44", "A-KERNEL-REWEIGHT", &["rescale_entity"]),
            ("6.18.44", "A-KERNEL-REWEIGHT", &["reweight_eevdf"]),
        ] {
            for types in [None, Some(true)] {
                assert!(codes(release, types).contains(&code), "{code} {release}");
                let mended = codes_of(release, &Kernel(types, function));
                assert!(!mended.contains(&code), "{code} {release} {function:?}");
            }
        }
        let signs = signs("6.12.200", &Kernel(None, &["apply_proportional_protection"]));
        assert_eq!(signs.get("A-LOW-LRU-GEN"), Some(&false));
    }

    /// By release, which of these codes apply: what stable trees took over, and what ended.
    #[test]
    fn ranges_know_of_what_stable_trees_took_over() {
        let counters = ["K-V1-IO-COUNTERS", "K-V1-IO-COUNTERS-OFF", "K-MEMSW-FAILCNT"];
        let caps = ["K-BFQ-CAP", "K-BFQ-CAP-STRICT", "K-BFQ-STALE-DEPTH", "K-DEADLINE-STALE-DEPTH"];
        for (release, expected) in [
            ("5.10.0-46-amd64", &[][..]),
            ("6.1.0-56-amd64", &["K-BFQ-CAP", "K-DEADLINE-STALE-DEPTH", "K-V1-IO-COUNTERS"]),
            ("6.8.0", &["K-BFQ-CAP"]),
            ("6.12.41", &["K-BFQ-CAP", "K-DEADLINE-STALE-DEPTH", "K-V1-IO-COUNTERS-OFF"]),
            (
                "6.12.117",
                &[
                    "K-BFQ-CAP-STRICT",
                    "K-BFQ-STALE-DEPTH",
                    "K-DEADLINE-STALE-DEPTH",
                    "K-V1-IO-COUNTERS-OFF",
                ],
            ),
            ("6.14.11", &["K-BFQ-CAP", "K-DEADLINE-STALE-DEPTH", "K-V1-IO-COUNTERS-OFF"]),
            ("6.18.44", &["K-BFQ-CAP-STRICT", "K-V1-IO-COUNTERS-OFF", "K-MEMSW-FAILCNT"]),
            ("7.2.13", &["K-BFQ-CAP-STRICT", "K-V1-IO-COUNTERS-OFF"]),
        ] {
            let found: Vec<&str> = codes(release, None)
                .into_iter()
                .filter(|code| counters.contains(code) || caps.contains(code))
                .collect();
            assert_eq!(found, expected, "{release}");
        }
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
        let seen =
            ["5.10.0", "5.17.0", "6.12.42", "6.12.43", "6.15.10", "6.15.11", "6.16.1", "6.16.2"];
        assert_eq!(seen.map(caps), [0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(["6.13.0", "6.16.0", "6.17.0", "7.3.4"].map(caps), [1; 4]);
        let mut all: Vec<&str> = KNOWN.iter().map(|known| known.code).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), KNOWN.len());
    }
}
