//! `threads`: where each thread runs, its CPU time, and its time waiting for a CPU.
//!
//! An eBPF program reads all threads at once if the kernel allows it; otherwise each thread's `stat` and
//! `schedstat` are read through kept descriptors (proc_pid_stat(5), Documentation/scheduler/sched-stats.rst).
//! The numbers are the same.
//!
//! A thread has a row whenever something about it has changed: a sleeping thread takes no space on disk, and
//! a missing row means that it has not run since the last one. A thread created while it is followed has a
//! first row at that time, with all counters 0; a thread that has ended has a last row with the state X.

mod by_proc;
mod followed;

use std::collections::HashMap;

use assay_bpf::task_iterator::{Task, TaskIterator};
use assay_kernel::Root;
use assay_kernel::clock::{boottime_ns, monotonic_ns};

use super::{Depth, Rows, Source, boxed, names};
use crate::nodes::Nodes;
use crate::process_tracker::ProcessTracker;
use crate::registry::{EVERY_ROUND, Inclusion, SourceInfo};
use crate::target::Targets;
use followed::{FollowedThreads, Thread};

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "threads",
    subject: "each thread, `GROUP:COMMAND:PID:TID`",
    what: "CPU, node, state, time on a CPU and waiting for one, migrations, faults",
    files: "an eBPF program over all tasks; else `/proc/PID/task/TID/{stat,schedstat}`",
    pace: EVERY_ROUND,
    inclusion: Inclusion::OnRequest,
    since: "program 5.8, CONFIG_DEBUG_INFO_BTF; schedstat CONFIG_SCHED_INFO",
    cost: "with the program 0.02 to 0.25 us for each thread of the machine; from /proc 1.3 us asleep, 4.4 us running",
    open: |root, targets| boxed(Threads::open(root, targets)),
};

/// Counters of a row.
pub(crate) const COLUMNS: [&str; 8] =
    ["cpu", "node", "state", "run_ns", "wait_ns", "migrations", "minor_faults", "major_faults"];

/// At most this many threads are followed, to limit the number of rows.
const MOST: usize = 16_384;

/// Period of updating the processes of groups, or a tenth as often if groups are many.
const OFTEN_NS: u64 = 100_000_000;
const MANY_GROUPS: usize = 16;

/// The state letter of a thread that has ended.
const GONE: u64 = b'X' as u64;

/// /proc gives times in ticks of 10 ms (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// A thread before it has run, with all counters at 0. Only the iterator reports migrations; from /proc there
/// is nothing to add up.
const BIRTH: [Option<u64>; COLUMNS.len()] =
    [None, None, None, Some(0), Some(0), Some(0), Some(0), Some(0)];

/// The state of a thread at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ThreadState {
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
    followed: FollowedThreads,
    /// How often each name has been used.
    name_counts: HashMap<String, u32>,
    columns: Vec<String>,
    buffer: Vec<u8>,
    round: u64,
    /// Number of followed threads that occurred in this round.
    present: usize,
    groups_updated_ns: Option<u64>,
    looked_ns: Option<u64>,
    left_out: usize,
    /// The time of the first round, and CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
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
            followed: FollowedThreads::default(),
            name_counts: HashMap::new(),
            columns: names(&COLUMNS),
            buffer: Vec::new(),
            round: 0,
            present: 0,
            groups_updated_ns: None,
            looked_ns: None,
            left_out: 0,
            began_ns: None,
            suspended_ns: boottime_ns().saturating_sub(monotonic_ns()),
        })
    }

    fn update_groups(&mut self, now: u64) {
        let groups = self.members.groups();
        let period = if groups > MANY_GROUPS { OFTEN_NS * 10 } else { OFTEN_NS };
        // Half a period early is better than a whole one late.
        let due = self.groups_updated_ns.is_none_or(|last| now + OFTEN_NS / 2 >= last + period);
        if groups > 0 && due {
            self.groups_updated_ns = Some(now);
            self.members.update_groups();
        }
    }

    /// Reads all threads of the machine at once and keeps those of the targets.
    fn by_iterator(&mut self, rows: &mut Rows, iterator: &mut TaskIterator) -> Result<(), String> {
        let now = rows.now();
        self.update_groups(now);
        self.members.begin();
        let tasks = iterator.read().map_err(|error| error.to_string().replace('\n', ";"))?;
        // Threads of a process are adjacent, so most lookups can be skipped.
        let mut last_lookup = None;
        for task in tasks {
            let ids = (task.pid, task.parent);
            let target = match last_lookup {
                Some((last_ids, target)) if last_ids == ids => target,
                _ => self.members.target_of(task.pid, task.parent),
            };
            last_lookup = Some((ids, target));
            let Some(target) = target else { continue };
            let started = task.started_ns / TICK_NS;
            let ids = Ids { tid: task.tid, pid: task.pid, target, started };
            self.update(rows, now, &ids, task.name(), thread_state(&task));
        }
        self.members.end();
        Ok(())
    }

    /// Adds a row if anything has changed.
    fn update(&mut self, rows: &mut Rows, now: u64, ids: &Ids, name: &[u8], state: ThreadState) {
        let round = self.round;
        if let Some(thread) = self.followed.find(ids.tid) {
            if thread.started == ids.started {
                self.present += usize::from(thread.round != round);
                thread.round = round;
                if thread.last != state {
                    thread.last = state;
                    let subject = thread.subject;
                    rows.add_at(now, subject, &row(self.nodes.as_ref(), &state));
                }
                return;
            }
            // The id was reused; the previous thread has ended.
            self.end(rows, now, ids.tid);
        }
        if self.followed.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let subject = rows.subject(&self.title(ids, name));
        let born_ns = (ids.started * TICK_NS).saturating_sub(self.suspended_ns);
        if self.began_ns.is_some_and(|began| born_ns >= began) {
            rows.add_at(born_ns.min(now), subject, &BIRTH);
        }
        self.followed.insert(Thread::new((ids.tid, ids.pid), ids.started, subject, state, round));
        self.present += 1;
        rows.add_at(now, subject, &row(self.nodes.as_ref(), &state));
    }

    /// `GROUP:COMMAND:PID:TID`, with `#2` appended for the second thread of that name and id.
    fn title(&mut self, ids: &Ids, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(name);
        let group = self.members.name(ids.target);
        let title = format!("{group}:{name}:{}:{}", ids.pid, ids.tid);
        let times = self.name_counts.entry(title.clone()).or_insert(0);
        *times += 1;
        if *times == 1 { title } else { format!("{title}#{times}") }
    }

    /// Adds the last row of a thread that has ended.
    fn end(&mut self, rows: &mut Rows, now: u64, tid: u32) {
        if let Some(thread) = self.followed.remove(tid) {
            self.present -= usize::from(thread.round == self.round);
            let mut values = [None; COLUMNS.len()];
            values[2] = Some(GONE);
            rows.add_at(now, thread.subject, &values);
        }
    }

    /// Ends all threads that did not occur in this round.
    fn end_unseen(&mut self, rows: &mut Rows) {
        if self.present == self.followed.len() {
            return;
        }
        let (round, now) = (self.round, rows.now());
        let gone = self.followed.iter().filter(|thread| thread.round != round);
        let gone: Vec<u32> = gone.map(|thread| thread.tid).collect();
        for tid in gone {
            self.end(rows, now, tid);
        }
    }
}

/// Identity of a thread.
struct Ids {
    tid: u32,
    pid: u32,
    target: usize,
    started: u64,
}

fn thread_state(task: &Task) -> ThreadState {
    ThreadState {
        cpu: task.cpu,
        state: task.state,
        run_ns: Some(task.run_ns),
        wait_ns: Some(task.wait_ns),
        migrations: Some(task.migrations),
        minor_faults: task.minor_faults,
        major_faults: task.major_faults,
    }
}

fn row(nodes: Option<&Nodes>, state: &ThreadState) -> [Option<u64>; COLUMNS.len()] {
    let node = nodes.and_then(|nodes| nodes.of_cpu(state.cpu));
    [
        Some(u64::from(state.cpu)),
        node.map(u64::from),
        Some(u64::from(state.state)),
        state.run_ns,
        state.wait_ns,
        state.migrations,
        Some(state.minor_faults),
        Some(state.major_faults),
    ]
}

impl Source for Threads {
    fn name(&self) -> &'static str {
        INFO.name
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
            let text = "only the iterator reports how often the kernel moved a thread".to_owned();
            reasons.push(("threads.migrations".to_owned(), text));
        }
        if self.left_out > 0 {
            let text = format!("more than {MOST} threads: the others were not followed");
            reasons.push(("threads.beyond".to_owned(), text));
        }
        reasons
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        self.round += 1;
        self.present = 0;
        self.followed.begin();
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
