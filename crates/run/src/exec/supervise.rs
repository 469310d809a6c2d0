//! Supervises the command until the last process in its group has ended.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use assay_host::cgroup::Tree;
use assay_host::{Next, describe_survivor, is_frozen};
use assay_sys::kernel::blocked::HangWatch;
use assay_sys::kernel::child::{ExitWatch, ends_within};
use assay_sys::kernel::{Error, Root, process, signal_forwarding};
use rustix::process::Signal;

use crate::exec::counters::{Counters, GROUP};
use crate::exec::peaks::{PERIOD, Peaks};
use crate::exec::report::Survivors;
use crate::exec::request::Leftover;
use crate::exec::watcher::Event;

/// Time for processes that are ending anyway, such as the rest of a pipeline, before they count as left
/// over.
const GRACE: Duration = Duration::from_millis(200);

/// Time for killed processes to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for a command that is stopped, and for what it leaves, to end after SIGTERM.
const STOP: Duration = Duration::from_secs(5);

/// How the command and its descendants ended.
pub(crate) struct Supervised {
    pub(crate) status: ExitStatus,
    pub(crate) left: Option<Survivors>,
}

/// What a watcher says to an event.
type Watch<'w> = dyn FnMut(Event) -> Next + 'w;

/// Waits for the command, passing signals on, then for the processes it left over.
pub(crate) fn supervise(
    child: &mut Child,
    counters: &Counters,
    peaks: &mut Peaks,
    leftover: Leftover,
    (notify, watcher): (&mut dyn FnMut(&str), &mut Watch<'_>),
) -> Result<Supervised, Error> {
    let end = ExitWatch::new(child);
    let limit = if peaks.any() { PERIOD } else { PERIOD * 4 };
    let (mut termination, mut watch) = (None, HangWatch::default());
    let mut stopped: Option<Instant> = None;
    let status = loop {
        let received = signal_forwarding::take();
        if received.termination().is_some() {
            termination.get_or_insert_with(Instant::now);
        }
        // Signals from the terminal have reached the command too: it shares the process group.
        for signal in received.sent {
            // The command has not been reaped, so its process id is still valid.
            let _ = process::send(child.id(), signal);
        }
        peaks.sample(counters);
        let ended =
            child.try_wait().map_err(|cause| Error::new("wait for", COMMAND.as_ref(), &cause))?;
        if let Some(status) = ended {
            break status;
        }
        if let Some(since) = termination
            && cannot_end(counters.root, &[child.id()], since, &mut watch)
        {
            watcher(Event::Ended);
            return Err(given_up(counters.root, child));
        }
        end.wait(match watcher(Event::Runs { is_ending: termination.is_some() }) {
            Next::Within(time) => time.min(limit),
            Next::Stop => {
                let begun = *stopped.get_or_insert_with(|| stop(counters));
                termination.get_or_insert(begun);
                if begun.elapsed() > STOP {
                    send_all(counters, Signal::KILL);
                }
                PERIOD
            }
        });
    };
    watcher(Event::Ended);
    let left = match stopped {
        Some(begun) => end_leftovers(counters, begun, notify),
        None => {
            let was_ended = termination.is_some() && status.signal().is_some();
            handle_leftovers(counters, peaks, leftover, was_ended, notify)
        }
    };
    Ok(Supervised { status, left })
}

/// Tells the command and all that it started to end, and returns when.
fn stop(counters: &Counters) -> Instant {
    send_all(counters, Signal::TERM);
    Instant::now()
}

/// What a stopped command leaves has the rest of its time.
fn end_leftovers(
    counters: &Counters,
    stopped: Instant,
    notify: &mut dyn FnMut(&str),
) -> Option<Survivors> {
    if gone_within(counters, STOP.saturating_sub(stopped.elapsed()).max(GRACE)) {
        return None;
    }
    let processes = live_processes(counters.root, counters.tree).len();
    kill_all(counters, "killing what the stopped command left", KILL_TIMEOUT, notify);
    Some(Survivors { processes, killed: true })
}

/// Name of the command in errors.
const COMMAND: &str = "the command";

/// Whether processes that were told to end cannot: all are frozen by someone else, or hang in the kernel, where no
/// signal reaches them. One that goes on regardless is waited for, as a shell would.
fn cannot_end(root: &Root, pids: &[u32], since: Instant, watch: &mut HangWatch) -> bool {
    const FROZEN: Duration = Duration::from_secs(2);
    const HANGING: Duration = Duration::from_secs(15);
    watch.all_hang(root, pids, HANGING)
        || since.elapsed() > FROZEN && pids.iter().all(|pid| is_frozen(root, *pid))
}

/// The error of such a command, which is killed as far as that is possible.
fn given_up(root: &Root, child: &mut Child) -> Error {
    let _ = child.kill();
    let why = match ends_within(child, GRACE) {
        true => "it was killed".to_owned(),
        false => format!("it survived SIGKILL: {}", describe_survivor(root, child.id())),
    };
    Error::unexpected("end", COMMAND.as_ref(), why)
}

/// Waits for or kills processes that outlive the command. `was_ended`: it was told to end, and a signal ended it;
/// then they are told as well.
fn handle_leftovers(
    counters: &Counters,
    peaks: &mut Peaks,
    leftover: Leftover,
    was_ended: bool,
    notify: &mut dyn FnMut(&str),
) -> Option<Survivors> {
    if gone_within(counters, GRACE) {
        return None;
    }
    let processes = live_processes(counters.root, counters.tree).len();
    if processes == 0 {
        return None;
    }
    let them = if processes == 1 { "1 process" } else { &format!("{processes} processes") };
    if leftover == Leftover::Kill {
        let why = format!("{them} left by the command: killed (--on-exit kill)");
        kill_all(counters, &why, KILL_TIMEOUT, notify);
        return Some(Survivors { processes, killed: true });
    }
    if !was_ended {
        notify(&format!(
            "{them} left by the command: waiting for them to end (Ctrl-C terminates them; \
             --on-exit kill does not wait)"
        ));
    }
    let killed = wait_for_all(counters, peaks, was_ended, notify);
    Some(Survivors { processes, killed })
}

/// Waits; the first signal is passed on to all (the one that ended the command counts), the second kills them. Those
/// that cannot end are not waited for. Returns whether they were killed.
fn wait_for_all(
    counters: &Counters,
    peaks: &mut Peaks,
    was_ended: bool,
    notify: &mut dyn FnMut(&str),
) -> bool {
    let mut watch = HangWatch::default();
    let mut terminating = was_ended.then(|| terminate(counters, Signal::TERM, notify));
    loop {
        let live = live_processes(counters.root, counters.tree);
        if live.is_empty() {
            return false;
        }
        let noted = signal_forwarding::take();
        match noted.termination() {
            Some(_) if terminating.is_some() => {
                kill_all(counters, "killing the remaining processes", KILL_TIMEOUT, notify);
                return true;
            }
            Some(signal) => terminating = Some(terminate(counters, signal, notify)),
            None => noted.sent.iter().for_each(|signal| send_all(counters, *signal)),
        }
        if terminating.is_some_and(|since| cannot_end(counters.root, &live, since, &mut watch)) {
            let why = "the remaining processes cannot end: they are frozen, or hang in the kernel";
            kill_all(counters, why, GRACE, notify);
            return true;
        }
        peaks.sample(counters);
        std::thread::sleep(PERIOD);
    }
}

/// Tells all to end, and returns when.
fn terminate(counters: &Counters, signal: Signal, notify: &mut dyn FnMut(&str)) -> Instant {
    notify("terminating the remaining processes; a second signal kills them");
    // A shell starts background processes with SIGINT and SIGQUIT ignored.
    let polite = [Signal::INT, Signal::QUIT].contains(&signal);
    send_all(counters, if polite { Signal::TERM } else { signal });
    Instant::now()
}

fn kill_all(counters: &Counters, why: &str, limit: Duration, notify: &mut dyn FnMut(&str)) {
    notify(why);
    send_all(counters, Signal::KILL);
    gone_within(counters, limit);
}

fn gone_within(counters: &Counters, limit: Duration) -> bool {
    let begun = Instant::now();
    loop {
        if live_processes(counters.root, counters.tree).is_empty() {
            return true;
        }
        if begun.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send_all(counters: &Counters, signal: Signal) {
    // Some may have ended since; the caller checks whether all are gone.
    process::send_to_all(|| live_processes(counters.root, counters.tree), signal);
}

/// Processes in the group, without zombies.
fn live_processes(root: &Root, tree: &Tree) -> Vec<u32> {
    let mut ids = tree.processes_below(GROUP);
    ids.retain(|id| !matches!(process::state(root, *id), None | Some('Z' | 'X')));
    ids
}
