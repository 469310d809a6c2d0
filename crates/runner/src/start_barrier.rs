//! The common start: every job waits at the gate until all are there.

use std::time::Duration;

use assay_files::Dir;
use assay_kernel::clock::{monotonic_ns, process_cpu_ns};
use assay_kernel::fifo::Fifo;
use assay_kernel::privileges::User;
use assay_kernel::process::{send, state, undisturbed};
use assay_kernel::{Error, Root};
use assay_workload::fio::{GATE_FILE, parse_gate_line};
use rustix::process::Signal;

use crate::processes::{Process, pause};

/// The gate of one repeat.
pub(crate) struct StartBarrier {
    fifo: Fifo,
    waiting: Vec<u32>,
}

/// How long the gate waits for those who have not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For one that uses no CPU time at all: it will not come.
    pub(crate) idle: Duration,
    /// For any.
    pub(crate) whole: Duration,
}

/// Laying out files may take long, but never without any work. Told in docs/run-folder.md.
pub(crate) const PATIENCE: Patience =
    Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(3600) };

/// A process on its way to the gate.
struct OnItsWay {
    id: u32,
    cpu_ns: Option<u64>,
    /// When it was last seen to have worked.
    worked_ns: u64,
}

/// When the jobs were let go, CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// How a wait at the gate ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Every job of every process that still runs is there.
    All,
    /// The user asked to stop.
    Interrupted,
}

impl StartBarrier {
    pub(crate) fn open(folder: &Dir) -> Result<Self, Error> {
        Fifo::make_in(folder, GATE_FILE).map(|fifo| Self { fifo, waiting: Vec::new() })
    }

    /// Lets these users, none of them root, write into it: one alone is given it, and where there are
    /// more everybody may. Only processes in the run's groups are taken in.
    pub(crate) fn let_in(&self, users: &[User]) -> Result<(), Error> {
        match users {
            [] => Ok(()),
            [user] => self.fifo.give_to(user.uid),
            _ => self.fifo.let_others_write(),
        }
    }

    /// Waits until all jobs have come. A process that ends meanwhile is not waited for: the
    /// others still run, and its failure is reported with their results. Whoever can write to the
    /// FIFO can name any process: only `members`, those in the run's groups, count.
    pub(crate) fn gather(
        &mut self,
        root: &Root,
        processes: &mut [Process],
        patience: Patience,
        members: impl Fn() -> Vec<u32>,
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Arrival, Error> {
        let began_ns = monotonic_ns();
        let mut on_their_way: Vec<OnItsWay> = processes
            .iter()
            .map(|process| OnItsWay { id: process.id(), cpu_ns: None, worked_ns: began_ns })
            .collect();
        loop {
            self.welcome(&members)?;
            let expected: usize = processes
                .iter_mut()
                .filter_map(|process| process.is_running().then_some(process.jobs))
                .sum();
            tell(self.waiting.len(), expected);
            let stopped = |pid: &u32| !matches!(state(root, *pid), Some('R' | 'S' | 'D'));
            if self.waiting.len() >= expected && self.waiting.iter().all(stopped) {
                return Ok(Arrival::All);
            }
            for (way, process) in on_their_way.iter_mut().zip(&mut *processes) {
                // Somebody else may have written the name of one that does not stand there.
                if let Some(why) = way.hopeless(began_ns, patience)
                    && !(self.has_come(process) && stopped(&process.id()))
                {
                    process.give_up(why);
                }
            }
            if pause(Duration::from_millis(5)) {
                return Ok(Arrival::Interrupted);
            }
        }
    }

    /// Takes in those who have come since the last look.
    fn welcome(&mut self, members: impl Fn() -> Vec<u32>) -> Result<(), Error> {
        let lines = self.fifo.lines()?;
        if lines.is_empty() {
            return Ok(());
        }
        let members = members();
        for pid in lines.iter().filter_map(|line| parse_gate_line(line)) {
            if members.contains(&pid) && !self.waiting.contains(&pid) {
                self.waiting.push(pid);
            }
        }
        Ok(())
    }

    /// Whether one that comes to the gate itself is there. Those of fio come as its children, and
    /// fio, which waits for them, is never idle for long.
    fn has_come(&self, process: &Process) -> bool {
        process.jobs == 1 && self.waiting.contains(&process.id())
    }

    /// Takes the FIFO away: whoever reads the logs later must not hang on it.
    pub(crate) fn close(self, folder: &Dir) -> Result<(), Error> {
        folder.remove_file(GATE_FILE)?;
        Ok(())
    }

    /// Lets all jobs go in one burst, then calls `watch` without being preempted by them.
    pub(crate) fn release<T>(&self, watch: impl FnOnce() -> T) -> (Release, T) {
        undisturbed(|| {
            let first_ns = monotonic_ns();
            for pid in &self.waiting {
                // A job that was killed at the gate is missed by its results, not here.
                let _ = send(*pid, Signal::CONT);
            }
            let release = Release { first_ns, last_ns: monotonic_ns() };
            (release, watch())
        })
    }
}

impl OnItsWay {
    /// Why it will not come any more, if so.
    fn hopeless(&mut self, began_ns: u64, patience: Patience) -> Option<String> {
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
        Some(format!("did not come to the common start {why}, and was given up"))
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

    /// A command of the shell, as it is started beside others.
    fn start(folder: &Path, script: &str, at_the_gate: bool) -> Process {
        let call = Invocation {
            tool: "command".to_owned(),
            program: "sh".to_owned(),
            words: vec!["-c".to_owned(), script.to_owned()],
            metrics: vec![],
            gate: assay_workload::Gate::Shell,
            ends_with_figures: true,
        };
        let gate = folder.join(GATE_FILE).display().to_string();
        let (program, words) =
            call.command(&Placeholders::default(), at_the_gate.then_some(gate.as_str()));
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
    fn nothing_of_a_program_has_run_before_the_gate_opens() {
        let place = tempfile::tempdir().unwrap();
        let mut gate = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let mark = place.path().join("mark");
        let script = format!("echo ran > {}", mark.display());
        let mut processes = [start(place.path(), &script, true)];
        // Somebody else names himself; if he counted, there would be enough at the gate at once.
        let own = format!("{}\n", std::process::id());
        std::fs::OpenOptions::new()
            .append(true)
            .open(place.path().join(GATE_FILE))
            .and_then(|mut fifo| fifo.write_all(own.as_bytes()))
            .unwrap();
        let ids = [processes[0].id()];
        let arrival =
            gate.gather(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ()).unwrap();
        assert_eq!(arrival, Arrival::All);
        assert_eq!(gate.waiting, ids);
        assert!(!mark.exists(), "it stands at the gate");
        gate.release(|| ());
        for _ in 0..500 {
            if !processes[0].is_running() {
                break;
            }
            pause(Duration::from_millis(10));
        }
        assert!(mark.exists() && !processes[0].has_failed());
    }

    #[test]
    fn one_that_hangs_before_the_gate_is_given_up_and_the_others_go() {
        let place = tempfile::tempdir().unwrap();
        let mut gate = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let mut processes =
            [start(place.path(), "sleep 100", false), start(place.path(), "true", true)];
        let ids = processes.each_ref().map(Process::id);
        let arrival =
            gate.gather(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ()).unwrap();
        assert_eq!(arrival, Arrival::All);
        assert!(processes[0].has_failed() && processes[1].is_running());
        let why = processes[0].ended.clone().unwrap();
        assert!(why.contains("did not come to the common start"), "{why}");
        gate.release(|| ());
    }

    /// Whoever may write into the FIFO may write without end, and end no line.
    #[test]
    fn who_writes_into_the_gate_without_end_keeps_nobody_from_it() {
        let place = tempfile::tempdir().unwrap();
        let mut gate = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut fifo =
            std::fs::OpenOptions::new().append(true).open(place.path().join(GATE_FILE)).unwrap();
        fifo.write_all(b"x").unwrap();
        let stopped = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let _ = fifo.write_all(b"x");
            }
        });
        let mut processes = [start(place.path(), "true", true)];
        let ids = [processes[0].id()];
        let arrival =
            gate.gather(&Root::real(), &mut processes, SHORT, || ids.to_vec(), |_, _| ()).unwrap();
        stop.store(true, Ordering::Relaxed);
        while !writer.is_finished() {
            gate.fifo.lines().unwrap();
            pause(Duration::from_millis(1));
        }
        assert_eq!((arrival, gate.waiting.as_slice()), (Arrival::All, &ids[..]));
        assert!(processes[0].is_running(), "{:?}", processes[0].ended);
        gate.release(|| ());
    }

    #[test]
    fn one_user_alone_is_given_the_gate_and_nobody_else_writes_there() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let user = |uid| User { uid, gid: uid, groups: vec![uid], name: None, home: None };
        let found = |users: &[User]| {
            let place = tempfile::tempdir().unwrap();
            let gate = StartBarrier::open(&Dir::open(place.path()).unwrap()).unwrap();
            gate.let_in(users).unwrap();
            let found = place.path().join(GATE_FILE).metadata().unwrap();
            (found.uid(), found.mode() & 0o777)
        };
        assert_eq!(found(&[]), (0, 0o600));
        assert_eq!(found(&[user(65534)]), (65534, 0o600));
        assert_eq!(found(&[user(65534), user(65533)]), (0, 0o622));
    }
}
