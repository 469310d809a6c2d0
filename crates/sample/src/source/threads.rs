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

use std::collections::HashMap;

use assay_kernel::Root;
use assay_kernel::clock::{boottime_ns, monotonic_ns};
use assay_kernel::task_iterator::{Task, TaskIterator};

use super::{Depth, Rows, Source, names};
use crate::members::Members;
use crate::place::Nodes;
use crate::target::Targets;
use by_proc::Files;

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

/// A thread that is followed.
struct Thread {
    /// Ticks after boot: with the id it names a thread for ever.
    started: u64,
    pid: u32,
    subject: usize,
    last: Seen,
    /// The last round that saw it.
    round: u64,
    files: Option<Files>,
}

/// The threads of all targets.
pub(super) struct Threads {
    root: Root,
    members: Members,
    nodes: Option<Nodes>,
    iterator: Result<TaskIterator, String>,
    known: HashMap<u32, Thread>,
    /// How often each name was given out.
    named: HashMap<String, u32>,
    tasks: Vec<(usize, Task)>,
    columns: Vec<String>,
    buffer: Vec<u8>,
    round: u64,
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
            members: Members::new(root, processes),
            nodes: Nodes::read(root).ok(),
            iterator,
            known: HashMap::new(),
            named: HashMap::new(),
            tasks: Vec::new(),
            columns: names(&COLUMNS),
            buffer: Vec::new(),
            round: 0,
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
    fn by_iterator(&mut self, rows: &mut Rows) -> Result<(), String> {
        let now = rows.now();
        self.ask_groups(now);
        let Self { iterator, members, tasks, buffer, .. } = self;
        let iterator = iterator.as_ref().map_err(Clone::clone)?;
        tasks.clear();
        members.begin();
        let read = iterator.read(buffer, |task| {
            if let Some(target) = members.whose(task.pid, task.parent) {
                tasks.push((target, *task));
            }
        });
        read.map_err(|error| error.to_string().replace('\n', ";"))?;
        members.end();
        let tasks = std::mem::take(&mut self.tasks);
        for (target, task) in &tasks {
            let seen = Seen {
                cpu: task.cpu,
                state: task.state,
                run_ns: Some(task.run_ns),
                wait_ns: Some(task.wait_ns),
                migrations: Some(task.migrations),
                minor_faults: task.minor_faults,
                major_faults: task.major_faults,
            };
            let started = task.started_ns / TICK_NS;
            let ids = Ids { tid: task.tid, pid: task.pid, target: *target, started };
            self.tell(rows, now, &ids, task.name(), seen);
        }
        self.tasks = tasks;
        Ok(())
    }

    /// Adds a row if anything has changed.
    fn tell(&mut self, rows: &mut Rows, now: u64, ids: &Ids, name: &[u8], seen: Seen) {
        let round = self.round;
        let other = self.known.get(&ids.tid).is_some_and(|known| known.started != ids.started);
        if other {
            // The id was given out again: what bore it is gone.
            self.end(rows, now, ids.tid);
        }
        if let Some(known) = self.known.get_mut(&ids.tid) {
            known.round = round;
            if known.last != seen {
                known.last = seen;
                let subject = known.subject;
                rows.add_at(now, subject, &row(self.nodes.as_ref(), &seen));
            }
            return;
        }
        if self.known.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let subject = rows.subject(self.title(ids, name));
        let (started, pid) = (ids.started, ids.pid);
        let born_ns = (started * TICK_NS).saturating_sub(self.suspended_ns);
        if self.began_ns.is_some_and(|began| born_ns >= began) {
            rows.add_at(born_ns.min(now), subject, &BIRTH);
        }
        let thread = Thread { started, pid, subject, last: seen, round, files: None };
        self.known.insert(ids.tid, thread);
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
        if let Some(thread) = self.known.remove(&tid) {
            let mut values = [None; COLUMNS.len()];
            values[2] = Some(GONE);
            rows.add_at(now, thread.subject, &values);
        }
    }

    /// Ends all threads that this round has not seen.
    fn end_unseen(&mut self, rows: &mut Rows) {
        let round = self.round;
        if self.known.values().all(|thread| thread.round == round) {
            return;
        }
        let now = rows.now();
        let gone: Vec<u32> = self
            .known
            .iter()
            .filter(|(_, thread)| thread.round != round)
            .map(|(tid, _)| *tid)
            .collect();
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
        self.began_ns.get_or_insert(rows.now());
        if self.iterator.is_ok() {
            match self.by_iterator(rows) {
                Ok(()) => {
                    self.end_unseen(rows);
                    return;
                }
                Err(why) => self.iterator = Err(why),
            }
        }
        self.by_proc(rows);
        self.end_unseen(rows);
    }
}
