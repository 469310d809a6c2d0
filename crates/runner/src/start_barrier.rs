//! The start barrier: every job waits there until all have arrived.

use std::time::Duration;

use assay_files::Dir;
use assay_kernel::clock::{monotonic_ns, process_cpu_ns};
use assay_kernel::fifo::Fifo;
use assay_kernel::privileges::User;
use assay_kernel::process::{send, state, with_real_time_priority};
use assay_kernel::{Error, Root};
use assay_workload::fio::{BARRIER_FILE, parse_barrier_line};
use rustix::process::Signal;

use crate::processes::{Process, pause};

/// The start barrier of one repeat.
pub(crate) struct StartBarrier {
    fifo: Fifo,
    waiting: Vec<u32>,
}

/// How long the barrier waits for jobs that have not arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Limit for a process that uses no CPU time at all.
    pub(crate) idle: Duration,
    /// Limit for any process.
    pub(crate) whole: Duration,
}

/// Laying out files may take long, but never without CPU time. Documented in docs/run-folder.md.
pub(crate) const PATIENCE: Patience =
    Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(3600) };

/// A process that has not arrived yet.
struct Expected {
    id: u32,
    cpu_ns: Option<u64>,
    /// When it last used CPU time.
    worked_ns: u64,
}

/// When the jobs were released, CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// How the wait at the barrier ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Every job of every running process has arrived.
    All,
    /// The user asked to stop.
    Interrupted,
}

impl StartBarrier {
    pub(crate) fn open(folder: &Dir) -> Result<Self, Error> {
        Fifo::make_in(folder, BARRIER_FILE).map(|fifo| Self { fifo, waiting: Vec::new() })
    }

    /// Lets these users, none of them root, write to the FIFO: a single user becomes its owner, for several
    /// it becomes writable by everyone. Only processes in the run's groups are accepted.
    pub(crate) fn grant_access(&self, users: &[User]) -> Result<(), Error> {
        match users {
            [] => Ok(()),
            [user] => self.fifo.give_to(user.uid),
            _ => self.fifo.let_others_write(),
        }
    }

    /// Waits until all jobs have arrived. A process that ends meanwhile is not waited for: the others still
    /// run, and its failure is reported with their results. Any writer to the FIFO can name any process, so
    /// only `members`, those in the run's groups, count.
    pub(crate) fn wait_for_all(
        &mut self,
        root: &Root,
        processes: &mut [Process],
        patience: Patience,
        members: impl Fn() -> Vec<u32>,
        mut on_progress: impl FnMut(usize, usize),
    ) -> Result<Arrival, Error> {
        let began_ns = monotonic_ns();
        let mut expected_processes: Vec<Expected> = processes
            .iter()
            .map(|process| Expected { id: process.id(), cpu_ns: None, worked_ns: began_ns })
            .collect();
        loop {
            self.add_arrivals(&members)?;
            let expected: usize = processes
                .iter_mut()
                .filter_map(|process| process.is_running().then_some(process.jobs))
                .sum();
            on_progress(self.waiting.len(), expected);
            let stopped = |pid: &u32| !matches!(state(root, *pid), Some('R' | 'S' | 'D'));
            if self.waiting.len() >= expected && self.waiting.iter().all(stopped) {
                return Ok(Arrival::All);
            }
            for (process_state, process) in expected_processes.iter_mut().zip(&mut *processes) {
                // Another process may have written the id of one that is not waiting there.
                if let Some(why) = process_state.timed_out(began_ns, patience)
                    && !(self.has_arrived(process) && stopped(&process.id()))
                {
                    process.give_up(why);
                }
            }
            if pause(Duration::from_millis(5)) {
                return Ok(Arrival::Interrupted);
            }
        }
    }

    /// Adds the jobs that have arrived since the last call.
    fn add_arrivals(&mut self, members: impl Fn() -> Vec<u32>) -> Result<(), Error> {
        let lines = self.fifo.lines()?;
        if lines.is_empty() {
            return Ok(());
        }
        let members = members();
        for pid in lines.iter().filter_map(|line| parse_barrier_line(line)) {
            if members.contains(&pid) && !self.waiting.contains(&pid) {
                self.waiting.push(pid);
            }
        }
        Ok(())
    }

    /// Whether a process that arrives itself has done so. Of fio its children arrive; fio itself, which waits
    /// for them, is never idle for long.
    fn has_arrived(&self, process: &Process) -> bool {
        process.jobs == 1 && self.waiting.contains(&process.id())
    }

    /// Removes the FIFO: a later reader of the logs must not block on it.
    pub(crate) fn close(self, folder: &Dir) -> Result<(), Error> {
        folder.remove_file(BARRIER_FILE)?;
        Ok(())
    }

    /// Releases all jobs in one burst, then calls `watch` without being preempted by them.
    pub(crate) fn release<T>(&self, watch: impl FnOnce() -> T) -> (Release, T) {
        with_real_time_priority(|| {
            let first_ns = monotonic_ns();
            for pid in &self.waiting {
                // A job that was killed at the barrier is reported with its results.
                let _ = send(*pid, Signal::CONT);
            }
            let release = Release { first_ns, last_ns: monotonic_ns() };
            (release, watch())
        })
    }
}

impl Expected {
    /// The reason if it has exceeded a limit.
    fn timed_out(&mut self, began_ns: u64, patience: Patience) -> Option<String> {
        let now = monotonic_ns();
        let cpu_ns = process_cpu_ns(self.id);
        if cpu_ns != self.cpu_ns {
            self.cpu_ns = cpu_ns;
            self.worked_ns = now;
        }
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        let why = if since(self.worked_ns) > patience.idle {
            format!("without any CPU time used for {:?}", patience.idle)
        } else if since(began_ns) > patience.whole {
            format!("within {:?}", patience.whole)
        } else {
            return None;
        };
        Some(format!("did not reach the start barrier {why}, and was killed"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use assay_kernel::process::Membership;
    use assay_plan::ToolPlan;
    use assay_workload::{Invocation, Placeholders};

    use super::*;
    use crate::processes::Launch;

    /// A shell command, started like a workload.
    fn start(folder: &Path, script: &str, at_barrier: bool) -> Process {
        let call = Invocation {
            tool: "command".to_owned(),
            program: "sh".to_owned(),
            words: vec!["-c".to_owned(), script.to_owned()],
            metrics: vec![],
            wait: assay_workload::WaitMethod::Shell,
            reports_on_sigint: true,
        };
        let barrier = folder.join(BARRIER_FILE).display().to_string();
        let (program, words) =
            call.command(&Placeholders::default(), at_barrier.then_some(barrier.as_str()));
        let launch = Launch {
            workload: "group.load",
            group: "group",
            tool: &ToolPlan::Invocation(call),
            until_stopped: false,
            program,
            words,
            folder: Dir::open(&tempfile::tempdir_in(folder).unwrap().keep()).unwrap(),
            log: "logs/load".to_owned(),
            jobs: 1,
        };
        Process::start(launch, &Membership::open(&Root::real(), &[]).unwrap()).unwrap()
    }

    const SHORT: Patience =
        Patience { idle: Duration::from_millis(300), whole: Duration::from_secs(20) };

    #[test]
    fn no_part_of_a_program_runs_before_the_release() {
        let place = tempfile::tempdir().unwrap();
        let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let mark = place.path().join("mark");
        let script = format!("echo ran > {}", mark.display());
        let mut processes = [start(place.path(), &script, true)];
        // Another process writes its own id; if it counted, all jobs would seem to have arrived at once.
        let own = format!("{}\n", std::process::id());
        std::fs::OpenOptions::new()
            .append(true)
            .open(place.path().join(BARRIER_FILE))
            .and_then(|mut fifo| fifo.write_all(own.as_bytes()))
            .unwrap();
        let ids = [processes[0].id()];
        let arrival = barrier
            .wait_for_all(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ())
            .unwrap();
        assert_eq!(arrival, Arrival::All);
        assert_eq!(barrier.waiting, ids);
        assert!(!mark.exists(), "it waits at the barrier");
        barrier.release(|| ());
        for _ in 0..500 {
            if !processes[0].is_running() {
                break;
            }
            pause(Duration::from_millis(10));
        }
        assert!(mark.exists() && !processes[0].has_failed());
    }

    #[test]
    fn a_process_that_hangs_before_the_barrier_is_killed_and_the_others_are_released() {
        let place = tempfile::tempdir().unwrap();
        let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let mut processes =
            [start(place.path(), "sleep 100", false), start(place.path(), "true", true)];
        let ids = processes.each_ref().map(Process::id);
        let arrival = barrier
            .wait_for_all(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ())
            .unwrap();
        assert_eq!(arrival, Arrival::All);
        assert!(processes[0].has_failed() && processes[1].is_running());
        let why = processes[0].ended.clone().unwrap();
        assert!(why.contains("did not reach the start barrier"), "{why}");
        barrier.release(|| ());
    }

    /// A process with write access to the FIFO may write without end and without line ends.
    #[test]
    fn endless_writing_to_the_fifo_does_not_block_the_start() {
        let place = tempfile::tempdir().unwrap();
        let mut barrier = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut fifo =
            std::fs::OpenOptions::new().append(true).open(place.path().join(BARRIER_FILE)).unwrap();
        fifo.write_all(b"x").unwrap();
        let stopped = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let _ = fifo.write_all(b"x");
            }
        });
        let mut processes = [start(place.path(), "true", true)];
        let ids = [processes[0].id()];
        let arrival = barrier
            .wait_for_all(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ())
            .unwrap();
        stop.store(true, Ordering::Relaxed);
        while !writer.is_finished() {
            barrier.fifo.lines().unwrap();
            pause(Duration::from_millis(1));
        }
        assert_eq!((arrival, barrier.waiting.as_slice()), (Arrival::All, &ids[..]));
        assert!(processes[0].is_running(), "{:?}", processes[0].ended);
        barrier.release(|| ());
    }

    #[test]
    fn a_single_user_becomes_the_only_one_with_access_to_the_fifo() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let user = |uid| User { uid, gid: uid, groups: vec![uid], name: None, home: None };
        let owner_and_mode = |users: &[User]| {
            let place = tempfile::tempdir().unwrap();
            let barrier = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
            barrier.grant_access(users).unwrap();
            let metadata = place.path().join(BARRIER_FILE).metadata().unwrap();
            (metadata.uid(), metadata.mode() & 0o777)
        };
        assert_eq!(owner_and_mode(&[]), (0, 0o600));
        assert_eq!(owner_and_mode(&[user(65534)]), (65534, 0o600));
        assert_eq!(owner_and_mode(&[user(65534), user(65533)]), (0, 0o622));
    }
}
