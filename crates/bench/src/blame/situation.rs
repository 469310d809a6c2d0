//! Groups beside each other of which is known what one of them waits for.

use assay_blame::{Answer, Culprit};
use assay_exec::ResourceUsage;

/// A weight that leaves little to processes outside the groups.
const HEAVY: &str = "cpu.weight=10000";

/// A group with these settings, and a thread that computes on each of these CPUs, which are numbered within a pair.
pub(super) struct Group {
    pub(super) settings: &'static [&'static str],
    pub(super) cpus: &'static [usize],
}

const fn group(settings: &'static [&'static str], cpus: &'static [usize]) -> Group {
    Group { settings, cpus }
}

/// A situation of which the truth is known.
pub(super) struct Situation {
    pub(super) name: &'static str,
    pub(super) own: Group,
    pub(super) others: &'static [Group],
    pub(super) question: Question,
}

/// What is compared.
pub(super) enum Question {
    /// What is charged to some classes, with what is known of them.
    Attribution(fn(&Seen<'_>) -> Vec<Class>),
    /// What is charged to the first of the others, or to the own quota if there is none, with what goes away without it.
    Proof,
}

/// A class of the waiting.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) name: &'static str,
    /// In percent of all waiting, unless the name says otherwise.
    pub(super) truth: f64,
    pub(super) charged: f64,
}

/// What was seen of the own group.
pub(super) struct Seen<'s> {
    pub(super) answer: &'s Answer,
    /// What the kernel's counters say that it used.
    pub(super) used: &'s ResourceUsage,
    /// Paths of the other groups.
    pub(super) others: &'s [String],
}

/// Truths for classes, then proofs.
pub(super) const ALL: [Situation; 10] = [
    Situation {
        name: "a hog of known duty",
        own: group(&["cpu.weight=100"], &[0]),
        // Its weight is a hundred times that of the own group: it runs first, 30 of every 100 ms.
        others: &[group(&["cpu.max=30000 100000", HEAVY], &[0])],
        question: Question::Attribution(duty),
    },
    Situation {
        name: "a quota alone",
        own: group(&["cpu.max=30000 100000", HEAVY], &[0]),
        others: &[],
        question: Question::Attribution(quota),
    },
    Situation {
        name: "own threads alone",
        own: group(&[HEAVY], &[0, 0, 0]),
        others: &[],
        question: Question::Attribution(own_threads),
    },
    Situation {
        name: "pinned beside an idle CPU",
        own: group(&[HEAVY], &[1, 1]),
        others: &[],
        question: Question::Attribution(pinned),
    },
    Situation {
        name: "two culprits, 3:1",
        own: group(&["cpu.weight=100"], &[0]),
        others: &[group(&["cpu.weight=7500"], &[0]), group(&["cpu.weight=2500"], &[0])],
        question: Question::Attribution(two_culprits),
    },
    Situation {
        name: "proof: the only hog",
        own: group(&[HEAVY], &[0]),
        others: &[group(&[HEAVY], &[0])],
        question: Question::Proof,
    },
    Situation {
        name: "proof: the larger of two hogs, 3:1",
        own: group(&[HEAVY], &[0, 1]),
        others: &[
            group(&[HEAVY, "cpu.max=45000 100000"], &[0]),
            group(&[HEAVY, "cpu.max=15000 100000"], &[1]),
        ],
        question: Question::Proof,
    },
    Situation {
        name: "proof: the smaller of two hogs, 3:1",
        own: group(&[HEAVY], &[0, 1]),
        others: &[
            group(&[HEAVY, "cpu.max=15000 100000"], &[1]),
            group(&[HEAVY, "cpu.max=45000 100000"], &[0]),
        ],
        question: Question::Proof,
    },
    Situation {
        name: "proof: a group that sleeps, beside a hog",
        own: group(&[HEAVY], &[0]),
        others: &[group(&[HEAVY], &[]), group(&[HEAVY], &[0])],
        question: Question::Proof,
    },
    Situation {
        name: "proof: the own quota",
        own: group(&[HEAVY, "cpu.max=30000 100000"], &[0]),
        others: &[],
        question: Question::Proof,
    },
];

impl Situation {
    /// Its name for names of groups.
    pub(super) fn slug(&self) -> String {
        let letters =
            self.name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' });
        letters.collect()
    }
}

impl Seen<'_> {
    /// The part of the waiting that this many seconds are, in percent.
    fn percent_of(&self, seconds: f64) -> f64 {
        seconds * 1e11 / self.answer.waited_ns as f64
    }

    /// Seconds that the own group computed.
    fn computed(&self) -> f64 {
        self.used.cpu_s.value().copied().unwrap_or(f64::NAN)
    }

    /// Seconds that are charged to one of the other groups.
    fn charged(&self, other: usize) -> f64 {
        let path = self.others.get(other);
        let part =
            self.answer.parts.iter().find(|part| part.group.as_ref() == path && path.is_some());
        part.map_or(0.0, |part| part.ns as f64 / 1e9)
    }

    fn class(&self, name: &'static str, culprit: Culprit, truth: f64) -> Class {
        Class { name, truth, charged: self.answer.percent(culprit) }
    }

    fn no_quota(&self) -> Class {
        self.class("own_quota", Culprit::OwnQuota, 0.0)
    }

    fn no_own_threads(&self) -> Class {
        self.class("own_threads", Culprit::OwnThreads, 0.0)
    }
}

/// Of the time in which the thread wanted the CPU: before it is started, and when it has ended, nobody waits for the hog.
fn duty(seen: &Seen<'_>) -> Vec<Class> {
    let wanted = seen.answer.waited_ns as f64 / 1e9 + seen.computed();
    let charged = seen.charged(0) / wanted * 100.0;
    let hog = Class { name: "group, of the time", truth: 30.0, charged };
    vec![hog, seen.no_quota(), seen.no_own_threads()]
}

/// The group has one thread, which wants the CPU all the time and so waits for its quota whenever the group is
/// throttled. How long that was the kernel counts in `cpu.stat`, which blame does not read: it adds each time when it
/// ends, so that one which goes on is not in it. But the group is new when it is watched, and the thread ends by itself
/// while it runs: every time that it was throttled has ended. Others on its CPU do not matter.
fn quota(seen: &Seen<'_>) -> Vec<Class> {
    let throttled = seen.used.throttling.value().map_or(f64::NAN, |throttling| throttling.time_s);
    vec![
        seen.class("own_quota", Culprit::OwnQuota, seen.percent_of(throttled)),
        seen.no_own_threads(),
    ]
}

/// Of three threads two wait for the third whenever it runs, whatever else runs on this CPU.
fn own_threads(seen: &Seen<'_>) -> Vec<Class> {
    let truth = seen.percent_of(2.0 * seen.computed());
    vec![seen.class("own_threads", Culprit::OwnThreads, truth), seen.no_quota()]
}

/// The threads may not use the other CPU: that it is idle is no reason for their waiting.
fn pinned(seen: &Seen<'_>) -> Vec<Class> {
    let truth = seen.percent_of(seen.computed());
    vec![
        seen.class("own_threads", Culprit::OwnThreads, truth),
        seen.class("idle_cpu", Culprit::IdleCpu, 0.0),
    ]
}

fn two_culprits(seen: &Seen<'_>) -> Vec<Class> {
    let (three, one) = (seen.charged(0), seen.charged(1));
    let charged = three / (three + one) * 100.0;
    vec![
        Class { name: "group, of both", truth: 75.0, charged },
        seen.no_quota(),
        seen.no_own_threads(),
    ]
}
