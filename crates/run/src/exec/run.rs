//! Runs one command from start to end: prepare, change, start, wait, read, restore.

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

use assay_host::cgroup::Tree;
use assay_host::facts::{Available, HostFacts};
use assay_host::{Ledger, Next, Watcher};
use assay_sys::kernel::child::{ChildrenUsage, children_usage};
use assay_sys::kernel::placement::Placement;
use assay_sys::kernel::{Error, Root, signal_forwarding};
use rustix::process::Signal;

use crate::exec::counters::{Counters, GROUP, host_ticks};
use crate::exec::limits_hit::{Limit, judge};
use crate::exec::peaks::Peaks;
use crate::exec::prepare::{Fault, Prepared, Refused, prepare};
use crate::exec::program::{self, NotRunnable};
use crate::exec::report::{Ended, LimitReport, Report, SCHEMA};
use crate::exec::request::Request;
use crate::exec::settings::{self, Reading};
use crate::exec::supervise::{Supervised, supervise};
use crate::exec::usage::{self, OutsideCounters, ResourceUsage};
use crate::exec::watcher::{Event, Unwatched};

/// Why the command was not run, or not to its end. The host has been restored where nothing else is said.
#[derive(Debug)]
pub enum Failure {
    /// Settings that are wrong, or that this host does not support.
    Refused(Vec<Refused>),
    /// The program does not exist, or is not executable.
    NotRunnable(NotRunnable),
    /// The group could not be created or set.
    Host(Error),
    /// A signal arrived before the command was started.
    Interrupted(Signal),
    /// One of the above, or the command could not be waited for, and these changes were not restored.
    NotRestored(Box<Failure>, Vec<Error>),
}

/// The result of a command that was run.
#[derive(Debug)]
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// Changes that could not be restored.
    pub not_restored: Vec<Error>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Host(error)
    }
}

/// Runs the command under its limits. `notify` receives messages for the user in the meantime.
///
/// From the first change on, termination signals are passed on to the command; the host is restored
/// before this function returns.
pub fn exec(
    request: &Request,
    facts: &HostFacts,
    notify: &mut dyn FnMut(&str),
) -> Result<Outcome, Failure> {
    exec_watched(request, facts, notify, &mut Unwatched)
}

/// The same, while `watcher` observes the group.
pub fn exec_watched(
    request: &Request,
    facts: &HostFacts,
    notify: &mut dyn FnMut(&str),
    watcher: &mut dyn Watcher,
) -> Result<Outcome, Failure> {
    let Some(name) = request.command.first() else {
        let message = "no command given".to_owned();
        return Err(Failure::NotRunnable(NotRunnable { message, exit_code: 127 }));
    };
    let prepared = prepare(request, facts).map_err(|refused| Failure::Refused(vec![refused]))?;
    refuse(request, &prepared)?;
    let program = program::find(name, std::env::var_os("PATH")).map_err(Failure::NotRunnable)?;
    signal_forwarding::note_signals();
    let root = Root::real();
    let mut ledger = Ledger::begin(&request.state_dir, &request.run_id)?;
    let job = Job { request, facts, root: &root, prepared: &prepared, program: &program };
    let result = job.run(&mut ledger, notify, watcher);
    if result.is_err() {
        // Its descriptors may be those that restoring needs.
        watcher.end();
    }
    let mut not_restored = ledger.restore(&root);
    not_restored.extend(ledger.finish().err());
    match result {
        Ok(report) => {
            let report = Report { restored: not_restored.is_empty(), ..report };
            Ok(Outcome { report, not_restored })
        }
        Err(failure) if not_restored.is_empty() => Err(failure),
        Err(failure) => Err(Failure::NotRestored(Box::new(failure), not_restored)),
    }
}

/// Refuses mistakes always, and host limitations only without `--keep-going`.
fn refuse(request: &Request, prepared: &Prepared) -> Result<(), Failure> {
    let counts = |refused: &&Refused| !request.keep_going || refused.fault == Fault::Usage;
    let refused: Vec<Refused> = prepared.refused.iter().filter(counts).cloned().collect();
    if refused.is_empty() { Ok(()) } else { Err(Failure::Refused(refused)) }
}

struct Job<'r> {
    request: &'r Request,
    facts: &'r HostFacts,
    root: &'r Root,
    prepared: &'r Prepared,
    program: &'r Path,
}

impl Job<'_> {
    fn run(
        &self,
        ledger: &mut Ledger,
        notify: &mut dyn FnMut(&str),
        watcher: &mut dyn Watcher,
    ) -> Result<Report, Failure> {
        let name = format!("assay-{}", self.request.run_id);
        let tree = Tree::create_single(self.root, ledger, &self.prepared.hierarchies, &name)?;
        settings::write(self.root, ledger, &tree, self.prepared)?;
        let at_start = settings::read(&tree, self.prepared);
        if settings::forbids_real_time(self.root, &tree) {
            notify(
                "the command cannot become real-time: its group has no budget (cpu.rt_runtime_us is 0)\n  hint: --set \
                 cpu.rt_runtime_us='100 ms' gives it one",
            );
        }
        let absent: &BTreeMap<String, String> = &self.prepared.absent;
        let counters = Counters { root: self.root, tree: &tree, absent };
        let mut peaks = Peaks::new(&counters, self.facts.swap.get() > 0);
        let watched = watcher.begin(tree.directory(GROUP, "cpu").as_deref());
        if let Some(signal) = signal_forwarding::take().termination() {
            return Err(Failure::Interrupted(signal));
        }
        watched?;
        let (ticks, begun, before) = (host_ticks(self.root), Instant::now(), children_usage());
        let mut child = self.start(&tree)?;
        let request = self.request;
        let mut watch = |event| match event {
            Event::Runs { is_ending } => watcher.poll(ledger, is_ending),
            Event::Ended => {
                watcher.command_ended(ledger);
                Next::Stop
            }
        };
        let supervised =
            supervise(&mut child, &counters, &mut peaks, request.leftover, (notify, &mut watch))?;
        watcher.end();
        let outside = OutsideCounters {
            wall_s: begun.elapsed().as_secs_f64(),
            peaks: &peaks,
            children: since(before, children_usage()),
            host_busy: busy(ticks, host_ticks(self.root)),
        };
        let used = usage::read(&counters, self.facts, &outside);
        let at_end = settings::read(&tree, self.prepared);
        Ok(self.report(&tree, supervised, used, &at_start, &at_end))
    }

    fn start(&self, tree: &Tree) -> Result<Child, Failure> {
        let words = &self.request.command;
        let mut command = Command::new(self.program);
        command.arg0(&words[0]).args(&words[1..]);
        let placement = Placement { memory: self.request.memory.clone(), ..Placement::default() };
        let membership = tree.membership(GROUP)?.placed(placement);
        let child = membership.spawn_in_foreground(&mut command);
        child.map_err(Failure::Host)
    }

    fn report(
        &self,
        tree: &Tree,
        supervised: Supervised,
        used: ResourceUsage,
        at_start: &[Reading],
        at_end: &[Reading],
    ) -> Report {
        Report {
            schema: SCHEMA,
            command: self
                .request
                .command
                .iter()
                .map(|word| word.to_string_lossy().into())
                .collect(),
            kernel: self.facts.kernel.clone(),
            layout: self.facts.cgroup.layout,
            groups: tree.directories(GROUP),
            ended: ended(supervised.status),
            limits: self.limits(&used, at_start, at_end),
            used,
            not_set: self.prepared.refused.clone(),
            left: supervised.left,
            restored: false,
        }
    }

    fn limits(
        &self,
        used: &ResourceUsage,
        at_start: &[Reading],
        at_end: &[Reading],
    ) -> Vec<LimitReport> {
        let files: Vec<&str> =
            self.prepared.planned.iter().map(|planned| planned.translation.file.as_str()).collect();
        let planned = self.prepared.planned.iter().enumerate();
        planned
            .zip(at_start.iter().zip(at_end))
            .map(|((index, planned), (reading, later))| {
                let translation = &planned.translation;
                let reads = reading.main.value().unwrap_or(&translation.written);
                let limit = Limit { file: &translation.file, reads, also: &reading.also };
                let others: Vec<&str> = files
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != index)
                    .map(|(_, file)| *file)
                    .collect();
                LimitReport {
                    knob: planned.setting.knob.clone(),
                    asked: planned.setting.value.clone(),
                    file: translation.file.clone(),
                    written: translation.written.clone(),
                    differs: !assay_host::knob::matches_written(
                        &translation.file,
                        &translation.written,
                        reads,
                    ),
                    reads: reading.main.clone(),
                    changed_to: changed(reading, later),
                    note: translation.note.clone(),
                    judged: judge(&limit, &others, used),
                }
            })
            .collect()
    }
}

fn changed(reading: &Reading, later: &Reading) -> Option<String> {
    let (before, after) = (reading.main.value()?, later.main.value()?);
    (before != after).then(|| after.clone())
}

fn ended(status: ExitStatus) -> Ended {
    match status.signal() {
        Some(signal) => Ended::Signal(signal),
        None => Ended::ExitCode(status.code().unwrap_or(0)),
    }
}

fn since(before: ChildrenUsage, after: ChildrenUsage) -> ChildrenUsage {
    ChildrenUsage {
        user_us: after.user_us.saturating_sub(before.user_us),
        system_us: after.system_us.saturating_sub(before.system_us),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
    }
}

fn busy(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Available<f64> {
    let (Some(before), Some(after)) = (before, after) else {
        return Available::NotAvailable("/proc/stat has no line for all CPUs".to_owned());
    };
    let (busy, all) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    if all == 0 {
        let why = "the command ended within one clock tick".to_owned();
        return Available::NotAvailable(why);
    }
    Available::Value(busy as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_load_is_unknown_for_a_command_shorter_than_a_tick() {
        assert_eq!(busy(Some((10, 100)), Some((15, 110))), Available::Value(0.5));
        assert!(busy(Some((10, 100)), Some((10, 100))).value().is_none());
        assert!(busy(None, None).value().is_none());
    }
}
