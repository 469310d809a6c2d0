//! Reads threads from /proc, each through descriptors that stay open.

use std::collections::HashSet;

use assay_sys::kernel::{RereadFile, Root, task};

use super::{Ids, Rows, Thread, ThreadState, Threads};

/// Period of looking for new threads, or ten times as long if groups are many. It also happens at once if the number of
/// threads of a process has changed.
const LOOK_NS: u64 = 100_000_000;
const MANY_GROUPS: usize = 16;

/// Limit on kept descriptors; the files of further threads are opened anew each time.
const MOST_FILES: usize = 16_000;

/// The open files of a thread. They belong to the thread and not to its id: after it has ended they yield
/// nothing, even if the id is reused.
pub(super) struct Files {
    stat: RereadFile,
    /// `None` on a kernel without CONFIG_SCHED_INFO.
    schedstat: Option<RereadFile>,
    /// Number of threads of the process at the last read.
    threads: u64,
}

impl Threads {
    /// One round over all followed threads, including a search for new ones if due.
    pub(super) fn by_proc(&mut self, rows: &mut Rows) {
        let now = rows.now();
        let period = if self.members.groups() > MANY_GROUPS { LOOK_NS * 10 } else { LOOK_NS };
        // Half a period early is better than a whole one late.
        let due = self.looked_ns.is_none_or(|last| now + LOOK_NS / 2 >= last + period);
        let grown = self.read_followed(rows);
        if due || grown {
            self.looked_ns = Some(now);
            self.look(rows);
        }
    }

    /// Reads every followed thread; returns whether the number of threads of some process has changed.
    fn read_followed(&mut self, rows: &mut Rows) -> bool {
        let Self { followed, buffer, nodes, round, root, asked, present: count, .. } = self;
        let mut grown = false;
        for (tid, thread) in followed.iter_mut() {
            asked.note(thread.pid);
            let state = match thread.files.is_some() {
                true => thread.read_kept(buffer, &mut grown),
                // Its files are not kept open because there are too many.
                false => read_anew(root, *tid, thread, buffer),
            };
            // A thread without a row counts as ended.
            let Some(state) = state else { continue };
            *count += usize::from(thread.round != *round);
            thread.round = *round;
            if thread.last != state {
                thread.last = state;
                rows.add(thread.subject, &super::row(nodes.as_ref(), &state));
            }
        }
        grown
    }

    /// Finds new threads.
    fn look(&mut self, rows: &mut Rows) {
        let processes = self.members.by_proc();
        let alive: HashSet<u32> = processes.iter().map(|(pid, _)| *pid).collect();
        // A process that left its group continues elsewhere and is no longer followed.
        for thread in self.followed.values_mut().filter(|thread| !alive.contains(&thread.pid)) {
            self.present -= usize::from(thread.round == self.round);
            thread.round = 0;
        }
        for (pid, target) in processes {
            let threads = self.root.directories(format!("/proc/{pid}/task")).unwrap_or_default();
            for tid in threads.iter().filter_map(|name| name.parse::<u32>().ok()) {
                let round = self.round;
                if self.followed.get(&tid).is_none_or(|followed| followed.round != round) {
                    self.add(rows, pid, tid, target);
                }
            }
        }
    }

    fn add(&mut self, rows: &mut Rows, pid: u32, tid: u32, target: usize) {
        self.asked.note(pid);
        let folder = format!("/proc/{pid}/task/{tid}");
        // A thread that has ended meanwhile is ignored.
        let Ok(file) = self.root.open_reread(format!("{folder}/stat")) else { return };
        let schedstat = self.root.open_reread(format!("{folder}/schedstat")).ok();
        let mut buffer = Vec::new();
        let mut other = Vec::new();
        let sched = schedstat.as_ref().and_then(|file| file.read_record(&mut other).ok());
        let sched = sched.and_then(task::schedstat);
        let Ok(text) = file.read_record(&mut buffer) else { return };
        let Some(stat) = task::stat(text) else { return };
        let now = rows.now();
        let ids = Ids { tid, pid, target, started: stat.started };
        self.update(rows, now, &ids, stat.name, thread_state(&stat, sched));
        let keep = self.followed.len() * 2 <= MOST_FILES;
        if let (true, Some(thread)) = (keep, self.followed.get_mut(&tid)) {
            thread.files = Some(Files { stat: file, schedstat, threads: stat.threads });
        }
    }
}

impl Thread {
    /// Reads its kept files, if any; `None` if it has ended. A thread that has not run since is unchanged.
    /// Sets `grown` if the number of threads of its process has changed.
    fn read_kept(&mut self, buffer: &mut Vec<u8>, grown: &mut bool) -> Option<ThreadState> {
        let files = self.files.as_mut()?;
        let sched = match &files.schedstat {
            Some(file) => task::schedstat(file.read_record(buffer).ok()?),
            None => None,
        };
        let (run_ns, wait_ns) = (sched.map(|s| s.run_ns), sched.map(|s| s.wait_ns));
        let same = sched.is_some() && (run_ns, wait_ns) == (self.last.run_ns, self.last.wait_ns);
        if same && self.last.state != b'R' {
            return Some(self.last);
        }
        let stat = task::stat(files.stat.read_record(buffer).ok()?)?;
        *grown |= stat.threads != files.threads;
        files.threads = stat.threads;
        Some(thread_state(&stat, sched))
    }
}

/// Reads a thread whose files are not kept; `None` if it has ended or its id was reused.
fn read_anew(root: &Root, tid: u32, thread: &Thread, buffer: &mut Vec<u8>) -> Option<ThreadState> {
    let folder = format!("/proc/{}/task/{tid}", thread.pid);
    let sched = root.open_reread(format!("{folder}/schedstat")).ok();
    let sched = sched.and_then(|file| task::schedstat(file.read_record(buffer).ok()?));
    let file = root.open_reread(format!("{folder}/stat")).ok()?;
    let stat = task::stat(file.read_record(buffer).ok()?)?;
    (stat.started == thread.started).then(|| thread_state(&stat, sched))
}

fn thread_state(stat: &task::Stat<'_>, sched: Option<task::SchedStat>) -> ThreadState {
    ThreadState {
        cpu: stat.cpu,
        state: stat.state,
        run_ns: sched.map(|sched| sched.run_ns),
        wait_ns: sched.map(|sched| sched.wait_ns),
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
    }
}
