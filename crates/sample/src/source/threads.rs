//! `threads`: where each thread runs, for how long, and for how long it waits to.
//!
//! An iterator of eBPF reads all threads at once where the kernel lets it; otherwise each thread's
//! `stat` and `schedstat` are read from kept descriptors (proc_pid_stat(5),
//! Documentation/scheduler/sched-stats.rst). The numbers are the same.
//!
//! A thread has a row when something about it has changed: one that sleeps costs nothing on disk,
//! and a missing row says that it has not run since the last one. A thread that is born while it
//! is followed has a first row at that time, when all its counters were 0; one that has ended has
//! a last row with the state X.

mod by_proc;
mod known;

use std::collections::HashMap;

use assay_kernel::Root;
use assay_kernel::clock::{boottime_ns, monotonic_ns};
use assay_kernel::task_iterator::{Task, TaskIterator};

use super::{Depth, Rows, Source, names};
use crate::nodes::Nodes;
use crate::process_tracker::ProcessTracker;
use crate::target::Targets;
use known::{Known, Thread};

/// Counters of a row.
pub(crate) const COLUMNS: [&str; 8] =
    ["cpu", "node", "state", "run_ns", "wait_ns", "migrations", "minor_faults", "major_faults"];

/// More threads than these are not followed: their rows would be larger than what they tell.
const MOST: usize = 16_384;

/// Groups are asked for their processes this often, or ten times less where they are many.
const OFTEN_NS: u64 = 100_000_000;
const MANY_GROUPS: usize = 16;

/// The state letter of a thread that has ended.
const GONE: u64 = b'X' as u64;

/// What /proc gives in ticks, it gives in those of 10 ms (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// A thread before it has run: nowhere, and all counters at 0. The iterator tells of migrations,
/// /proc does not, and there is nothing to add up then.
const BIRTH: [Option<u64>; COLUMNS.len()] =
    [None, None, None, Some(0), Some(0), Some(0), Some(0), Some(0)];

/// What is known of a thread at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    cpu: u16,
    state: u8,
    run_ns: Option<u64>,
    wait_ns: Option<u64>,
    migrations: Option<u64>,
    minor_faults: u64,
    major_faults: u64,
}

/// The threads of all targets.
pub(super) struct Threads {
    root: Root,
    members: ProcessTracker,
    nodes: Option<Nodes>,
    iterator: Result<TaskIterator, String>,
    known: Known,
    /// How often each name was given out.
    named: HashMap<String, u32>,
    columns: Vec<String>,
    buffer: Vec<u8>,
    round: u64,
    /// How many of the known ones this round has seen.
    seen: usize,
    asked_groups_ns: Option<u64>,
    looked_ns: Option<u64>,
    left_out: usize,
    /// The time of the first round, and CLOCK_BOOTTIME less CLOCK_MONOTONIC.
    began_ns: Option<u64>,
    suspended_ns: u64,
}

impl Threads {
    pub(super) fn open(root: &Root, targets: &Targets) -> Result<Self, String> {
        let processes = targets.processes.as_ref().map_err(Clone::clone)?;
        if processes.is_empty() {
            return Err("no group or process is followed".to_owned());
        }
        let iterator = if root.is_real() {
            TaskIterator::open(root).map_err(|error| error.to_string().replace('\n', ";"))
        } else {
            Err("a fake tree has no kernel behind it".to_owned())
        };
        Ok(Self {
            root: root.clone(),
            members: ProcessTracker::new(root, processes),
            nodes: Nodes::read(root).ok(),
            iterator,
            known: Known::default(),
            named: HashMap::new(),
            columns: names(&COLUMNS),
            buffer: Vec::new(),
            round: 0,
            seen: 0,
            asked_groups_ns: None,
            looked_ns: None,
            left_out: 0,
            began_ns: None,
            suspended_ns: boottime_ns().saturating_sub(monotonic_ns()),
        })
    }

    fn ask_groups(&mut self, now: u64) {
        let groups = self.members.groups();
        let period = if groups > MANY_GROUPS { OFTEN_NS * 10 } else { OFTEN_NS };
        // Half a period early is better than a whole one late.
        let due = self.asked_groups_ns.is_none_or(|last| now + OFTEN_NS / 2 >= last + period);
        if groups > 0 && due {
            self.asked_groups_ns = Some(now);
            self.members.look_at_groups();
        }
    }

    /// One read of all threads of the machine, of which those of the targets are kept.
    fn by_iterator(&mut self, rows: &mut Rows, iterator: &mut TaskIterator) -> Result<(), String> {
        let now = rows.now();
        self.ask_groups(now);
        self.members.begin();
        let tasks = iterator.read().map_err(|error| error.to_string().replace('\n', ";"))?;
        // Threads of a process stand together, so that most need not be asked for.
        let mut asked = None;
        for task in tasks {
            let of = (task.pid, task.parent);
            let whose = match asked {
                Some((known, whose)) if known == of => whose,
                _ => self.members.whose(task.pid, task.parent),
            };
            asked = Some((of, whose));
            let Some(target) = whose else { continue };
            let started = task.started_ns / TICK_NS;
            let ids = Ids { tid: task.tid, pid: task.pid, target, started };
            self.tell(rows, now, &ids, task.name(), seen(&task));
        }
        self.members.end();
        Ok(())
    }

    /// Adds a row if anything has changed.
    fn tell(&mut self, rows: &mut Rows, now: u64, ids: &Ids, name: &[u8], seen: Seen) {
        let round = self.round;
        if let Some(known) = self.known.find(ids.tid) {
            if known.started == ids.started {
                self.seen += usize::from(known.round != round);
                known.round = round;
                if known.last != seen {
                    known.last = seen;
                    let subject = known.subject;
                    rows.add_at(now, subject, &row(self.nodes.as_ref(), &seen));
                }
                return;
            }
            // The id was given out again: what bore it is gone.
            self.end(rows, now, ids.tid);
        }
        if self.known.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let subject = rows.subject(&self.title(ids, name));
        let born_ns = (ids.started * TICK_NS).saturating_sub(self.suspended_ns);
        if self.began_ns.is_some_and(|began| born_ns >= began) {
            rows.add_at(born_ns.min(now), subject, &BIRTH);
        }
        self.known.insert(Thread::new((ids.tid, ids.pid), ids.started, subject, seen, round));
        self.seen += 1;
        rows.add_at(now, subject, &row(self.nodes.as_ref(), &seen));
    }

    /// `GROUP:COMMAND:PID:TID`, with `#2` behind it for the second thread of that name and id.
    fn title(&mut self, ids: &Ids, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(name);
        let group = self.members.name(ids.target);
        let title = format!("{group}:{name}:{}:{}", ids.pid, ids.tid);
        let times = self.named.entry(title.clone()).or_insert(0);
        *times += 1;
        if *times == 1 { title } else { format!("{title}#{times}") }
    }

    /// Says of a thread that it has ended.
    fn end(&mut self, rows: &mut Rows, now: u64, tid: u32) {
        if let Some(thread) = self.known.remove(tid) {
            self.seen -= usize::from(thread.round == self.round);
            let mut values = [None; COLUMNS.len()];
            values[2] = Some(GONE);
            rows.add_at(now, thread.subject, &values);
        }
    }

    /// Ends all threads that this round has not seen.
    fn end_unseen(&mut self, rows: &mut Rows) {
        if self.seen == self.known.len() {
            return;
        }
        let (round, now) = (self.round, rows.now());
        let gone = self.known.iter().filter(|thread| thread.round != round);
        let gone: Vec<u32> = gone.map(|thread| thread.tid).collect();
        for tid in gone {
            self.end(rows, now, tid);
        }
    }
}

/// Who a thread is.
struct Ids {
    tid: u32,
    pid: u32,
    target: usize,
    started: u64,
}

fn seen(task: &Task) -> Seen {
    Seen {
        cpu: task.cpu,
        state: task.state,
        run_ns: Some(task.run_ns),
        wait_ns: Some(task.wait_ns),
        migrations: Some(task.migrations),
        minor_faults: task.minor_faults,
        major_faults: task.major_faults,
    }
}

fn row(nodes: Option<&Nodes>, seen: &Seen) -> [Option<u64>; COLUMNS.len()] {
    let node = nodes.and_then(|nodes| nodes.of_cpu(seen.cpu));
    [
        Some(u64::from(seen.cpu)),
        node.map(u64::from),
        Some(u64::from(seen.state)),
        seen.run_ns,
        seen.wait_ns,
        seen.migrations,
        Some(seen.minor_faults),
        Some(seen.major_faults),
    ]
}

impl Source for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn subjects(&self) -> Vec<String> {
        Vec::new()
    }

    fn files(&self) -> usize {
        1
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let mut reasons = Vec::new();
        if let Err(why) = &self.iterator {
            let text = format!("threads are read from /proc, one by one: {why}");
            reasons.push(("threads.iterator".to_owned(), text));
            let text = "only the iterator tells how often the kernel moved a thread".to_owned();
            reasons.push(("threads.migrations".to_owned(), text));
        }
        if self.left_out > 0 {
            let text = format!("more than {MOST} threads: those beyond were not followed");
            reasons.push(("threads.beyond".to_owned(), text));
        }
        reasons
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        self.round += 1;
        self.seen = 0;
        self.known.begin();
        self.began_ns.get_or_insert(rows.now());
        match std::mem::replace(&mut self.iterator, Err(String::new())) {
            Ok(mut iterator) => match self.by_iterator(rows, &mut iterator) {
                Ok(()) => self.iterator = Ok(iterator),
                Err(why) => {
                    self.iterator = Err(why);
                    self.by_proc(rows);
                }
            },
            Err(why) => {
                self.iterator = Err(why);
                self.by_proc(rows);
            }
        }
        self.end_unseen(rows);
    }
}
