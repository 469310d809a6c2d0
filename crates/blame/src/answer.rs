//! The answer: parts of the waiting, their check against the kernel's counter, and what was lost.

use assay_host::facts::owner::Owner;
use serde::{Deserialize, Serialize};

use crate::counted::{Counted, CountedCpu, TOLERANCE};
use crate::culprit::{Culprit, Names};
use crate::longest::LongestWait;
use crate::part::{Part, named};
use crate::thread_time::ThreadTime;
use crate::waits::Waits;

/// The version of the document.
pub const SCHEMA: u32 = 1;

/// Differences below this void nothing: clocks of two CPUs differ by microseconds.
const NEGLIGIBLE_NS: u64 = 10_000;

/// Positions in `enum counter` of `programs/blame/memory.h`.
const SWITCHES: usize = 0;
const EVENTS: usize = 1;
const TIMED: usize = 2;
const TIMED_NS: usize = 3;
const HIDDEN_SWITCHES: usize = 4;

/// Positions in `enum slot_counter`.
const WAKEUPS: usize = 0;
const MOVES: usize = 1;
const UNSEEN_WAITS: usize = 2;
const DROPPED_WAITS: usize = 3;
const DROPPED_NS: usize = 4;
const LOST_MOVES: usize = 5;
const OTHER_CPU_SETS: usize = 6;

/// Where the waiting of a group or process went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The group's path, or the process.
    pub target: String,
    /// How long it was watched.
    pub seconds: f64,
    /// Whether the parts can be relied on.
    pub verdict: Verdict,
    /// What is wrong, if they cannot.
    pub reason: Option<String>,
    /// The waiting of all threads together, in nanoseconds.
    pub waited_ns: u64,
    /// The part of it that is over: what the kernel must have counted as well.
    pub completed_ns: u64,
    /// What the kernel counted (`run_delay`).
    pub run_delay_ns: u64,
    /// How far the completed part is from that, in percent of it.
    pub difference_percent: Option<f64>,
    /// The parts, the largest first. Together they are `waited_ns`.
    pub parts: Vec<Part>,
    /// For how long of the waits that are over another CPU was idle that the thread may use, at least. Beside the
    /// parts: the thread waited for its own CPU meanwhile.
    #[serde(default)]
    pub idle_elsewhere_ns: u64,
    /// Processes that did not run, since they were frozen at the start or the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    /// The whole time of its threads; absent in answers of earlier versions, and where they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_time: Option<ThreadTime>,
    /// The parts on each CPU.
    pub cpus: Vec<CpuPart>,
    /// Lengths of single waits.
    pub waits: Waits,
    /// The longest waits, the longest first.
    pub longest: Vec<LongestWait>,
    /// Events, and what was lost.
    pub events: Events,
    /// What the measurement itself took.
    pub cost: Cost,
}

/// Processes that a freezer kept from running: they wait for no CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The file that froze them, or most of them: `cgroup.freeze`, on v1 `freezer.state`, of their group or one above.
    pub file: String,
    /// How many.
    pub processes: usize,
    /// Of how many in all.
    pub of: usize,
}

/// Whether an answer can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The sum agrees with the kernel's counter.
    Valid,
    /// It does not.
    Void,
}

/// The waiting on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuPart {
    /// Its number.
    pub cpu: usize,
    /// The waiting on it.
    pub waited_ns: u64,
    /// How long the threads ran on it; null in answers of earlier versions.
    #[serde(default)]
    pub ran_ns: Option<u64>,
    /// The parts, the largest first.
    pub parts: Vec<Part>,
}

/// What the programs saw, and what they lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Switches of any thread.
    pub switches: u64,
    /// Wake-ups of threads of the group.
    pub wakeups: u64,
    /// Moves of waiting threads of the group to another CPU.
    pub moves: u64,
    /// Switches that the kernel did not show, and that were inferred.
    pub hidden_switches: u64,
    /// Waits whose start was not shown; their time is in the part `unseen`.
    pub unseen_waits: u64,
    /// Waits left out, since two threads shared an entry.
    pub dropped_waits: u64,
    /// Their time, which is in no part.
    pub dropped_ns: u64,
    /// Moves at which the time of the other CPU was charged at the same moment.
    pub lost_moves: u64,
    /// Waits that are not in `idle_elsewhere_ns`, since threads are bound to too many different sets of CPUs.
    #[serde(default)]
    pub other_cpu_sets: u64,
    /// Events of all programs, since they were attached, that the kernel did not show them, since they were running on that
    /// CPU already (`recursion_misses`); null if it does not count them.
    #[serde(default)]
    pub missed: Option<u64>,
}

/// What the measurement took, for all groups that were watched together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Nanoseconds an event, as measured at one event in 64; without the kernel's own way into a program.
    pub ns_per_event: Option<f64>,
    /// Of the time of all CPUs.
    pub percent_of_cpus: Option<f64>,
}

impl Answer {
    /// What was counted in `seconds`, as an answer about `target`.
    #[must_use]
    pub fn new(target: &str, seconds: f64, counted: &Counted, names: &Names) -> Self {
        let waited_ns = counted.sum(CountedCpu::waited);
        let completed_ns = waited_ns.saturating_sub(counted.sum(not_over));
        let run_delay_ns = counted.sum(|cpu| cpu.run_delay);
        let events = events(counted);
        let reason = objection(completed_ns, run_delay_ns, &events);
        let share = (run_delay_ns > 0)
            .then(|| (completed_ns as f64 - run_delay_ns as f64) / run_delay_ns as f64);
        let all: Vec<&CountedCpu> = counted.cpus.iter().map(|(_, cpu)| cpu).collect();
        Self {
            schema: SCHEMA,
            target: target.to_owned(),
            seconds,
            verdict: if reason.is_none() { Verdict::Valid } else { Verdict::Void },
            reason,
            waited_ns,
            completed_ns,
            run_delay_ns,
            difference_percent: share.map(|share| share * 100.0),
            parts: parts(&all, names),
            idle_elsewhere_ns: counted.sum(|cpu| cpu.idle_elsewhere),
            frozen: None,
            thread_time: None,
            cpus: counted.cpus.iter().map(|(number, cpu)| cpu_part(*number, cpu, names)).collect(),
            waits: Waits::new(counted),
            longest: LongestWait::all(counted, names),
            events,
            cost: cost(counted, seconds),
        }
    }

    /// Notes how many events the programs have missed: where the sums differ, or these are many, a reason.
    pub fn set_missed(&mut self, missed: Option<u64>) {
        self.events.missed = missed;
        let Some(missed @ 1..) = missed else { return };
        let seen = self.events.switches + self.events.wakeups + self.events.moves;
        if self.reason.is_some() || missed as f64 > seen as f64 * TOLERANCE {
            self.set_void(&format!("{missed} events were missed by the programs"));
        }
    }

    /// Adds a reason for which the parts cannot be relied on.
    pub fn set_void(&mut self, reason: &str) {
        self.verdict = Verdict::Void;
        self.reason = Some(match self.reason.take() {
            Some(first) => format!("{first}; {reason}"),
            None => reason.to_owned(),
        });
    }

    /// Notes whose groups the parts name.
    pub fn set_owners(&mut self, mut owner: impl FnMut(&str) -> Option<Owner>) {
        let locks = self.thread_time.iter_mut().flat_map(|time| &mut time.locks);
        for part in self.parts.iter_mut().chain(locks) {
            part.owner = part.group.as_deref().and_then(&mut owner);
        }
    }

    /// The part of the waiting that went to this culprit, in percent.
    #[must_use]
    pub fn percent(&self, culprit: Culprit) -> f64 {
        let parts = self.parts.iter().filter(|part| part.culprit == culprit);
        parts.map(|part| part.percent).sum()
    }
}

/// Waiting that is charged and not yet counted by the kernel: of threads that wait at the end, and the last
/// wait of the thread that runs.
fn not_over(cpu: &CountedCpu) -> u64 {
    let waiting = (cpu.waiting as u64).wrapping_mul(cpu.last).wrapping_sub(cpu.began);
    waiting.wrapping_add(cpu.pending)
}

/// Why the parts cannot be relied on.
fn objection(completed: u64, run_delay: u64, events: &Events) -> Option<String> {
    let difference = completed.abs_diff(run_delay);
    let allowed = (run_delay as f64 * TOLERANCE).max(NEGLIGIBLE_NS as f64);
    if difference as f64 > allowed {
        return Some(format!(
            "the parts sum up to {:.6} s, and the kernel counted {:.6} s (run_delay)",
            completed as f64 / 1e9,
            run_delay as f64 / 1e9
        ));
    }
    (events.dropped_ns as f64 > run_delay as f64 * TOLERANCE).then(|| {
        format!(
            "{} waits of {:.6} s were dropped",
            events.dropped_waits,
            events.dropped_ns as f64 / 1e9
        )
    })
}

fn parts(cpus: &[&CountedCpu], names: &Names) -> Vec<Part> {
    let total = cpus.iter().map(|cpu| cpu.waited()).fold(0, u64::wrapping_add);
    named(&charged(cpus), total, names)
}

/// The time charged to each class on these CPUs. What was charged too much for a thread that was moved to a CPU is taken
/// off what runs there then (`take_over` in `programs/blame/charge.h`). Where that leaves less than nothing, the largest
/// of the others gives it.
fn charged(cpus: &[&CountedCpu]) -> Vec<u64> {
    let classes = cpus.iter().map(|cpu| cpu.charged.len()).max().unwrap_or(0);
    let of = |class: usize| {
        let each = cpus.iter().map(|cpu| cpu.charged.get(class).copied().unwrap_or(0));
        each.fold(0, u64::wrapping_add) as i64
    };
    let signed: Vec<i64> = (0..classes).map(of).collect();
    let mut missing: u64 = signed.iter().filter(|ns| **ns < 0).map(|ns| ns.unsigned_abs()).sum();
    let mut sums: Vec<u64> = signed.iter().map(|ns| (*ns).max(0) as u64).collect();
    while let Some(largest) = sums.iter_mut().max().filter(|ns| missing > 0 && **ns > 0) {
        let given = missing.min(*largest);
        *largest -= given;
        missing -= given;
    }
    sums
}

fn cpu_part(number: usize, cpu: &CountedCpu, names: &Names) -> CpuPart {
    let parts = parts(&[cpu], names);
    CpuPart { cpu: number, waited_ns: cpu.waited(), ran_ns: Some(cpu.ran), parts }
}

/// A counter of all CPUs, and one of the target on all of them.
fn counter(counted: &Counted, index: usize) -> u64 {
    counted.sum(|cpu| cpu.counters[index])
}

fn own_counter(counted: &Counted, index: usize) -> u64 {
    counted.sum(|cpu| cpu.own_counters[index])
}

fn events(counted: &Counted) -> Events {
    Events {
        switches: counter(counted, SWITCHES),
        wakeups: own_counter(counted, WAKEUPS),
        moves: own_counter(counted, MOVES),
        hidden_switches: counter(counted, HIDDEN_SWITCHES),
        unseen_waits: own_counter(counted, UNSEEN_WAITS),
        dropped_waits: own_counter(counted, DROPPED_WAITS),
        dropped_ns: own_counter(counted, DROPPED_NS),
        lost_moves: own_counter(counted, LOST_MOVES),
        other_cpu_sets: own_counter(counted, OTHER_CPU_SETS),
        missed: None,
    }
}

fn cost(counted: &Counted, seconds: f64) -> Cost {
    let timed = counter(counted, TIMED);
    let each = (timed > 0).then(|| counter(counted, TIMED_NS) as f64 / timed as f64);
    let number = counter(counted, EVENTS) as f64;
    let available = seconds * 1e9 * counted.cpus.len() as f64;
    let percent = each.filter(|_| available > 0.0).map(|each| each * number / available * 100.0);
    Cost { ns_per_event: each, percent_of_cpus: percent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::culprit::{FIRST_GROUP, OWN};

    /// One CPU with these times charged, of which the kernel counted `run_delay`.
    fn counted(charged: &[(u32, u64)], run_delay: u64) -> Counted {
        let mut cpu = CountedCpu { run_delay, last: 1, ..CountedCpu::default() };
        cpu.charged = vec![0; 16];
        charged.iter().for_each(|(class, ns)| cpu.charged[*class as usize] = *ns);
        Counted { cpus: vec![(0, cpu)] }
    }

    fn names() -> Names {
        Names(vec!["/hog".to_owned(), "/other".to_owned()])
    }

    #[test]
    fn parts_have_names_and_sum_up_to_the_waiting() {
        let counted = counted(
            &[(OWN, 250_000), (FIRST_GROUP, 600_000), (FIRST_GROUP + 1, 150_000)],
            1_000_000,
        );
        let answer = Answer::new("/mine", 1.0, &counted, &names());
        assert_eq!(answer.verdict, Verdict::Valid);
        let shown: Vec<_> =
            answer.parts.iter().map(|part| (part.group.as_deref(), part.percent)).collect();
        assert_eq!(shown, [(Some("/hog"), 60.0), (None, 25.0), (Some("/other"), 15.0)]);
        assert_eq!(answer.parts.iter().map(|part| part.ns).sum::<u64>(), answer.waited_ns);
    }

    #[test]
    fn what_was_charged_too_much_for_a_moved_thread_comes_from_the_largest_part() {
        let taken = 5_000_u64.wrapping_neg();
        let counted = counted(&[(OWN, 1_000_000), (FIRST_GROUP, taken)], 995_000);
        let answer = Answer::new("/mine", 1.0, &counted, &names());
        assert_eq!((answer.verdict, answer.waited_ns), (Verdict::Valid, 995_000));
        let [part] = &answer.parts[..] else { panic!("{:?}", answer.parts) };
        assert_eq!((part.culprit, part.ns, part.percent), (Culprit::OwnThreads, 995_000, 100.0));
    }

    #[test]
    fn a_sum_that_misses_the_kernel_s_counter_by_more_than_a_percent_is_void() {
        for (run_delay, verdict) in
            [(1_009_000, Verdict::Valid), (1_030_000, Verdict::Void), (970_000, Verdict::Void)]
        {
            let answer =
                Answer::new("/mine", 1.0, &counted(&[(OWN, 1_000_000)], run_delay), &names());
            assert_eq!(answer.verdict, verdict, "{run_delay}");
            assert_eq!(answer.reason.is_some(), verdict == Verdict::Void);
        }
    }

    #[test]
    fn missed_events_are_a_reason_where_the_sums_differ() {
        let answer = |run_delay, missed| {
            let counted = counted(&[(OWN, 1_000_000)], run_delay);
            let mut answer = Answer::new("/mine", 1.0, &counted, &names());
            answer.events.switches = 1_000;
            answer.set_missed(missed);
            assert_eq!(answer.events.missed, missed);
            answer.reason
        };
        let reason = answer(9_000_000, Some(3)).unwrap();
        assert!(reason.ends_with("(run_delay); 3 events were missed by the programs"), "{reason}");
        for missed in [Some(0), None] {
            assert!(!answer(9_000_000, missed).unwrap().contains("missed"));
        }
        assert_eq!(answer(1_000_000, Some(3)), None);
        // The sum closes, but of what nobody saw the parts say nothing.
        assert_eq!(answer(1_000_000, Some(30)).unwrap(), "30 events were missed by the programs");
    }

    #[test]
    fn waits_that_go_on_at_the_end_are_charged_but_not_compared() {
        let mut counted = counted(&[(OWN, 1_500_000)], 1_000_000);
        let cpu = &mut counted.cpus[0].1;
        // Two threads wait since 700 and 800 us of a clock that is at 950 us; the running one waited 100 us.
        (cpu.last, cpu.waiting, cpu.began, cpu.pending) = (950_000, 2, 1_500_000, 100_000);
        let answer = Answer::new("/mine", 1.0, &counted, &names());
        assert_eq!((answer.waited_ns, answer.completed_ns), (1_500_000, 1_000_000));
        assert_eq!(answer.verdict, Verdict::Valid);
    }

    #[test]
    fn a_wait_that_was_moved_is_subtracted_where_it_waits_now() {
        let mut counted = counted(&[(OWN, 500_000)], 400_000);
        let other =
            CountedCpu { last: 1_000_000, waiting: 1, began: 900_000, ..CountedCpu::default() };
        counted.cpus.push((1, other));
        assert_eq!(Answer::new("/mine", 1.0, &counted, &names()).completed_ns, 400_000);
    }

    #[test]
    fn dropped_waits_void_the_answer() {
        let mut counted = counted(&[(OWN, 1_000_000)], 1_000_000);
        counted.cpus[0].1.own_counters[DROPPED_NS] = 50_000;
        let answer = Answer::new("/mine", 1.0, &counted, &names());
        assert_eq!(answer.verdict, Verdict::Void);
        assert!(answer.reason.unwrap().contains("dropped"));
    }

    #[test]
    fn a_group_that_never_waited_has_an_answer() {
        let answer = Answer::new("/mine", 1.0, &counted(&[], 0), &names());
        assert_eq!((answer.verdict, answer.difference_percent), (Verdict::Valid, None));
        assert!(answer.parts.is_empty() && answer.waits.histogram.is_empty());
    }

    #[test]
    fn lengths_are_counted_between_the_shortest_and_the_longest() {
        let mut counted = counted(&[(OWN, 1)], 1);
        counted.cpus[0].1.lengths = vec![0, 0, 0, 98, 0, 2];
        let waits = Answer::new("/mine", 1.0, &counted, &names()).waits;
        assert_eq!((waits.count, waits.p50_below_ns, waits.p99_below_ns), (100, 16, 64));
        let counts: Vec<_> =
            waits.histogram.iter().map(|bucket| (bucket.from_ns, bucket.count)).collect();
        assert_eq!(counts, [(8, 98), (16, 0), (32, 2)]);
    }

    #[test]
    fn the_cost_is_that_of_timed_events_times_all_events() {
        let mut counted = counted(&[], 0);
        let counters = &mut counted.cpus[0].1.counters;
        (counters[EVENTS], counters[TIMED], counters[TIMED_NS]) = (10_000, 10, 1_000);
        let cost = Answer::new("/mine", 1.0, &counted, &names()).cost;
        assert_eq!(cost, Cost { ns_per_event: Some(100.0), percent_of_cpus: Some(0.1) });
    }
}
