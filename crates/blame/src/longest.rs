//! The longest waits, with what the CPU did meanwhile.

use serde::{Deserialize, Serialize};

use crate::counted::{Counted, CountedCpu, LongWait};
use crate::culprit::{Culprit, Names};

/// How many of them an answer has.
const MOST: usize = 8;

/// One of the longest waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongestWait {
    /// How long it took, in nanoseconds.
    pub length_ns: u64,
    /// When it ended, in seconds after the start.
    pub ended_s: f64,
    /// The CPU on which it ended.
    pub cpu: usize,
    /// The thread's name.
    pub thread: String,
    /// The thread's id.
    pub thread_id: u64,
    /// The part for which the group's quota was used up.
    pub quota_ns: u64,
    /// The part for which another CPU was idle that the thread may use, at least.
    #[serde(default)]
    pub idle_elsewhere_ns: u64,
    /// What the CPU ran meanwhile, the longest first.
    pub ran: Vec<Ran>,
    /// The first part of the wait, of which that is not known: only the last switches are kept.
    pub earlier_ns: u64,
}

/// What a CPU ran during a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The class.
    pub culprit: Culprit,
    /// The group's path, for a group.
    pub group: Option<String>,
    /// For how long, in nanoseconds.
    pub ns: u64,
}

impl LongestWait {
    pub(crate) fn all(counted: &Counted, names: &Names) -> Vec<Self> {
        let describe = |(number, cpu): &(usize, CountedCpu)| {
            let one = |wait| Self::new(*number, cpu, wait, names);
            cpu.longest.iter().map(one).collect::<Vec<_>>()
        };
        let mut all: Vec<Self> = counted.cpus.iter().flat_map(describe).collect();
        all.sort_by_key(|wait| std::cmp::Reverse(wait.length_ns));
        all.truncate(MOST);
        all
    }

    fn new(number: usize, cpu: &CountedCpu, wait: &LongWait, names: &Names) -> Self {
        let (ran, earlier_ns) = ran(wait, names);
        Self {
            length_ns: wait.length,
            ended_s: wait.ended.saturating_sub(cpu.first) as f64 / 1e9,
            cpu: number,
            thread: wait.name.clone(),
            thread_id: wait.thread,
            quota_ns: wait.quota,
            idle_elsewhere_ns: wait.idle_elsewhere,
            ran,
            earlier_ns,
        }
    }
}

/// What ran between the start and the end of a wait, and how much of it is not known.
fn ran(wait: &LongWait, names: &Names) -> (Vec<Ran>, u64) {
    let start = wait.ended.saturating_sub(wait.length);
    let mut ran: Vec<Ran> = Vec::new();
    for (segment, before) in wait.segments.iter().zip(wait.segments.iter().skip(1)) {
        let ns = segment.until.min(wait.ended).saturating_sub(before.until.max(start));
        let group = names.path(segment.class).map(str::to_owned);
        let culprit = Culprit::numbered(segment.class);
        match ran.iter_mut().find(|one| one.culprit == culprit && one.group == group) {
            Some(one) => one.ns += ns,
            None => ran.push(Ran { culprit, group, ns }),
        }
    }
    ran.retain(|one| one.ns > 0);
    ran.sort_by_key(|one| std::cmp::Reverse(one.ns));
    let known: u64 = ran.iter().map(|one| one.ns).sum();
    (ran, wait.length.saturating_sub(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Segment;
    use crate::culprit::{FIRST_GROUP, OWN};

    fn wait(length: u64, segments: &[(u64, u32)]) -> LongWait {
        let segment =
            |(until, class): &(u64, u32)| Segment { until: *until, class: *class, thread: 1 };
        let segments = segments.iter().map(segment).collect();
        LongWait {
            length,
            ended: 100,
            quota: 0,
            idle_elsewhere: 0,
            thread: 5,
            name: "w".to_owned(),
            segments,
        }
    }

    #[test]
    fn segments_count_from_the_start_of_the_wait_and_each_culprit_once() {
        let names = Names(vec!["/hog".to_owned()]);
        let hog = FIRST_GROUP;
        let (ran, earlier) = ran(&wait(60, &[(100, hog), (90, OWN), (70, hog), (10, OWN)]), &names);
        assert_eq!(ran.len(), 2);
        assert_eq!((ran[0].group.as_deref(), ran[0].ns), (Some("/hog"), 40));
        assert_eq!((ran[1].culprit, ran[1].ns), (Culprit::OwnThreads, 20));
        assert_eq!(earlier, 0);
    }

    #[test]
    fn what_was_before_the_oldest_switch_is_not_known() {
        let (ran, earlier) = ran(&wait(60, &[(100, OWN), (80, OWN)]), &Names::default());
        assert_eq!((ran[0].ns, earlier), (20, 40));
    }
}
