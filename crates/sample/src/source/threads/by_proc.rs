//! Threads read from /proc, each from descriptors that stay open.

use std::collections::HashSet;

use assay_kernel::{KeptFile, Root, task};

use super::{Ids, Rows, Seen, Thread, Threads};

/// New threads are looked for this often, and at once where the number of threads of a process has
/// changed.
const LOOK_NS: u64 = 1_000_000_000;

/// Descriptors that are kept at the most; threads beyond are opened anew each time.
const MOST_FILES: usize = 16_000;

/// The open files of a thread. They belong to the thread and not to its id: when it has ended they
/// read nothing, whoever bears the id by then.
pub(super) struct Files {
    stat: KeptFile,
    /// A kernel without CONFIG_SCHED_INFO has none.
    schedstat: Option<KeptFile>,
    /// Threads of the process when it was read last.
    threads: u64,
}

impl Threads {
    /// One round over all threads that are known, and over new ones where it is time to look.
    pub(super) fn by_proc(&mut self, rows: &mut Rows) {
        let now = rows.now();
        let due = self.looked_ns.is_none_or(|last| now + LOOK_NS / 20 >= last + LOOK_NS);
        let grown = self.read_known(rows);
        if due || grown {
            self.looked_ns = Some(now);
            self.look(rows);
        }
    }

    /// Reads every known thread; returns whether some process has another number of threads than
    /// before.
    fn read_known(&mut self, rows: &mut Rows) -> bool {
        let Self { known, buffer, nodes, round, root, seen: count, .. } = self;
        let mut grown = false;
        for thread in known.iter_mut() {
            let found = match thread.files.is_some() {
                true => thread.read_kept(buffer, &mut grown),
                // There were too many to keep their files open.
                false => read_anew(root, thread, buffer),
            };
            // That no row is added is what tells that it has ended.
            let Some(found) = found else { continue };
            *count += usize::from(thread.round != *round);
            thread.round = *round;
            if thread.last != found {
                thread.last = found;
                rows.add(thread.subject, &super::row(nodes.as_ref(), &found));
            }
        }
        grown
    }

    /// Finds threads that are not known yet.
    fn look(&mut self, rows: &mut Rows) {
        let processes = self.members.by_proc();
        let alive: HashSet<u32> = processes.iter().map(|(pid, _)| *pid).collect();
        // A process that left its group lives on elsewhere, and is not followed any more.
        for thread in self.known.iter_mut().filter(|thread| !alive.contains(&thread.pid)) {
            self.seen -= usize::from(thread.round == self.round);
            thread.round = 0;
        }
        for (pid, target) in processes {
            let threads = self.root.directories(format!("/proc/{pid}/task")).unwrap_or_default();
            for tid in threads.iter().filter_map(|name| name.parse::<u32>().ok()) {
                let round = self.round;
                if self.known.get_mut(tid).is_none_or(|known| known.round != round) {
                    self.add(rows, pid, tid, target);
                }
            }
        }
    }

    fn add(&mut self, rows: &mut Rows, pid: u32, tid: u32, target: usize) {
        let folder = format!("/proc/{pid}/task/{tid}");
        // One that has ended by now leaves no trace.
        let Ok(file) = self.root.keep(format!("{folder}/stat")) else { return };
        let schedstat = self.root.keep(format!("{folder}/schedstat")).ok();
        let mut buffer = Vec::new();
        let mut other = Vec::new();
        let sched = schedstat.as_ref().and_then(|file| file.read_record(&mut other).ok());
        let sched = sched.and_then(task::schedstat);
        let Ok(text) = file.read_record(&mut buffer) else { return };
        let Some(stat) = task::stat(text) else { return };
        let now = rows.now();
        let ids = Ids { tid, pid, target, started: stat.started };
        self.tell(rows, now, &ids, stat.name, seen(&stat, sched));
        let keep = self.known.len() * 2 <= MOST_FILES;
        if let (true, Some(thread)) = (keep, self.known.get_mut(tid)) {
            thread.files = Some(Files { stat: file, schedstat, threads: stat.threads });
        }
    }
}

impl Thread {
    /// What its open files say, if it has any; `None` when it has ended. What has not run since is
    /// where it was. `grown` is set where its process has another number of threads than before.
    fn read_kept(&mut self, buffer: &mut Vec<u8>, grown: &mut bool) -> Option<Seen> {
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
        Some(seen(&stat, sched))
    }
}

/// Reads a thread whose files are not kept; `None` when it has ended, or another bears its id.
fn read_anew(root: &Root, thread: &Thread, buffer: &mut Vec<u8>) -> Option<Seen> {
    let folder = format!("/proc/{}/task/{}", thread.pid, thread.tid);
    let sched = root.keep(format!("{folder}/schedstat")).ok();
    let sched = sched.and_then(|file| task::schedstat(file.read_record(buffer).ok()?));
    let file = root.keep(format!("{folder}/stat")).ok()?;
    let stat = task::stat(file.read_record(buffer).ok()?)?;
    (stat.started == thread.started).then(|| seen(&stat, sched))
}

fn seen(stat: &task::Stat<'_>, sched: Option<task::SchedStat>) -> Seen {
    Seen {
        cpu: stat.cpu,
        state: stat.state,
        run_ns: sched.map(|sched| sched.run_ns),
        wait_ns: sched.map(|sched| sched.wait_ns),
        migrations: None,
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
    }
}
