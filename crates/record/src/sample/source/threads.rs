//! `threads`: where each thread runs, its CPU time, and its time waiting for a CPU.
//!
//! Each thread's `stat` and `schedstat` are read through kept descriptors (proc_pid_stat(5),
//! Documentation/scheduler/sched-stats.rst).
//!
//! A thread has a row whenever something about it has changed: a sleeping thread takes no space on disk, and
//! a missing row means that it has not run since the last one. A thread created while it is followed has a
//! first row at that time, with all counters 0; a thread that has ended has a last row with the state X.

mod by_proc;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use assay_sys::kernel::Root;
use assay_sys::kernel::clock::{boottime_ns, monotonic_ns};

use super::aside::{Asked, aside};
use super::{Depth, Rows, Source, names};
use crate::sample::nodes::Nodes;
use crate::sample::process_tracker::ProcessTracker;
use crate::sample::registry::{Inclusion, SourceInfo, TableInfo};
use crate::sample::target::Targets;
use by_proc::Files;

pub(super) const INFO: SourceInfo = SourceInfo {
    name: "threads",
    inclusion: Inclusion::OnRequest,
    open: |root, targets| aside(Threads::open(root, targets), |threads| &threads.asked),
};

/// Counters of a row.
pub(crate) const COLUMNS: [&str; 7] =
    ["cpu", "node", "state", "run_ns", "wait_ns", "minor_faults", "major_faults"];

/// At most this many threads are followed, to limit the number of rows.
const MOST: usize = 16_384;

/// And at most this many one after the other: the name of each is kept.
const MOST_NAMES: usize = 500_000;

/// The state letter of a thread that has ended.
const GONE: u64 = b'X' as u64;

/// /proc gives times in ticks of 10 ms (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// A thread before it has run, with all counters at 0.
const BIRTH: [Option<u64>; COLUMNS.len()] = [None, None, None, Some(0), Some(0), Some(0), Some(0)];

/// The state of a thread at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ThreadState {
    cpu: u16,
    state: u8,
    run_ns: Option<u64>,
    wait_ns: Option<u64>,
    minor_faults: u64,
    major_faults: u64,
}

/// A followed thread.
struct Thread {
    pid: u32,
    /// Start time in ticks after boot: together with the id it identifies a thread forever.
    started: u64,
    subject: usize,
    last: ThreadState,
    /// The last round in which it occurred.
    round: u64,
    files: Option<Files>,
}

/// The threads of all targets.
pub(super) struct Threads {
    table: TableInfo,
    root: Root,
    asked: Arc<Asked>,
    members: ProcessTracker,
    nodes: Option<Nodes>,
    /// By thread id.
    followed: BTreeMap<u32, Thread>,
    /// How often each name has been used.
    name_counts: HashMap<String, u32>,
    buffer: Vec<u8>,
    round: u64,
    /// Number of followed threads that occurred in this round.
    present: usize,
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
        Ok(Self {
            table: TableInfo::new(INFO.name, names(&COLUMNS), Vec::new()),
            root: root.clone(),
            asked: Arc::default(),
            members: ProcessTracker::new(root, processes),
            nodes: Nodes::read(root).ok(),
            followed: BTreeMap::new(),
            name_counts: HashMap::new(),
            buffer: Vec::new(),
            round: 0,
            present: 0,
            looked_ns: None,
            left_out: 0,
            began_ns: None,
            suspended_ns: boottime_ns().saturating_sub(monotonic_ns()),
        })
    }

    /// Adds a row if anything has changed.
    fn update(&mut self, rows: &mut Rows, now: u64, ids: &Ids, name: &[u8], state: ThreadState) {
        let round = self.round;
        if let Some(thread) = self.followed.get_mut(&ids.tid) {
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
        if self.followed.len() >= MOST || self.name_counts.len() >= MOST_NAMES {
            self.left_out += 1;
            return;
        }
        let subject = rows.subject(&self.title(ids, name));
        let born_ns = (ids.started * TICK_NS).saturating_sub(self.suspended_ns);
        if self.began_ns.is_some_and(|began| born_ns >= began) {
            rows.add_at(born_ns.min(now), subject, &BIRTH);
        }
        let (pid, started) = (ids.pid, ids.started);
        let thread = Thread { pid, started, subject, last: state, round, files: None };
        self.followed.insert(ids.tid, thread);
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
        if let Some(thread) = self.followed.remove(&tid) {
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
        let gone = self.followed.iter().filter(|(_, thread)| thread.round != round);
        let gone: Vec<u32> = gone.map(|(tid, _)| *tid).collect();
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

fn row(nodes: Option<&Nodes>, state: &ThreadState) -> [Option<u64>; COLUMNS.len()] {
    let node = nodes.and_then(|nodes| nodes.of_cpu(state.cpu));
    [
        Some(u64::from(state.cpu)),
        node.map(u64::from),
        Some(u64::from(state.state)),
        state.run_ns,
        state.wait_ns,
        Some(state.minor_faults),
        Some(state.major_faults),
    ]
}

impl Source for Threads {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn reasons(&self) -> Vec<(String, String)> {
        let mut reasons = Vec::new();
        if self.left_out > 0 {
            let text = format!(
                "more than {MOST} threads at once, or {MOST_NAMES} in all: the others were not followed"
            );
            reasons.push(("threads.beyond".to_owned(), text));
        }
        reasons
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        self.round += 1;
        self.present = 0;
        self.began_ns.get_or_insert(rows.now());
        self.by_proc(rows);
        self.end_unseen(rows);
    }
}
