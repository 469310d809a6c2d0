//! From the command's start to the end of the last process in its group.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use assay_cgroup::Tree;
use assay_kernel::child::End;
use assay_kernel::{Error, Root, process, signal_forwarding};
use rustix::process::Signal;

use crate::counters::{Counters, GROUP};
use crate::peaks::{PERIOD, Peaks};
use crate::report::Left;
use crate::request::Leftover;

/// How long processes that are ending anyway, such as the rest of a pipeline, may take before
/// they count as left.
const GRACE: Duration = Duration::from_millis(200);

/// How long processes that were killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the command and its company ended.
pub(crate) struct Supervised {
    pub(crate) status: ExitStatus,
    pub(crate) left: Option<Left>,
}

/// Waits for the command, passing signals on, then for what it left behind.
pub(crate) fn supervise(
    child: &mut Child,
    counters: &Counters,
    peaks: &mut Peaks,
    leftover: Leftover,
    talk: &mut dyn FnMut(&str),
) -> Result<Supervised, Error> {
    let end = End::of(child);
    let limit = if peaks.wanted() { PERIOD } else { PERIOD * 4 };
    let status = loop {
        // What the terminal sent has reached the command too: it shares the process group.
        for signal in signal_forwarding::take().sent {
            // Not waited for yet, so its id is still its own.
            let _ = process::send(child.id(), signal);
        }
        peaks.sample(counters);
        let ended = child.try_wait().map_err(|cause| {
            Error::new("wait for", &std::path::PathBuf::from("the command"), &cause)
        })?;
        if let Some(status) = ended {
            break status;
        }
        end.wait(limit);
    };
    let left = company(counters, peaks, leftover, talk);
    Ok(Supervised { status, left })
}

/// Deals with processes that outlive the command.
fn company(
    counters: &Counters,
    peaks: &mut Peaks,
    leftover: Leftover,
    talk: &mut dyn FnMut(&str),
) -> Option<Left> {
    if gone_within(counters, GRACE) {
        return None;
    }
    let processes = living(counters.root, counters.tree).len();
    if processes == 0 {
        return None;
    }
    let them = if processes == 1 { "1 process" } else { &format!("{processes} processes") };
    if leftover == Leftover::Kill {
        talk(&format!("{them} left by the command: killed (--left kill)"));
        send_all(counters, Signal::KILL);
        gone_within(counters, PATIENCE);
        return Some(Left { processes, killed: true });
    }
    talk(&format!(
        "{them} left by the command: waiting for their end (Ctrl-C asks them to end; \
         --left kill does not wait)"
    ));
    let killed = wait_for_all(counters, peaks, talk);
    Some(Left { processes, killed })
}

/// Waits; the first signal is passed on to all, at the second they are killed. Says whether they
/// were.
fn wait_for_all(counters: &Counters, peaks: &mut Peaks, talk: &mut dyn FnMut(&str)) -> bool {
    let mut asked = false;
    loop {
        if living(counters.root, counters.tree).is_empty() {
            return false;
        }
        let noted = signal_forwarding::take();
        match noted.end() {
            Some(_) if asked => {
                talk("killing what is left");
                send_all(counters, Signal::KILL);
                gone_within(counters, PATIENCE);
                return true;
            }
            Some(signal) => {
                talk("asking what is left to end; once more kills it");
                // A shell starts background processes with SIGINT and SIGQUIT ignored.
                let polite = [Signal::INT, Signal::QUIT].contains(&signal);
                send_all(counters, if polite { Signal::TERM } else { signal });
                asked = true;
            }
            None => noted.sent.iter().for_each(|signal| send_all(counters, *signal)),
        }
        peaks.sample(counters);
        std::thread::sleep(PERIOD);
    }
}

fn gone_within(counters: &Counters, limit: Duration) -> bool {
    let begun = Instant::now();
    loop {
        if living(counters.root, counters.tree).is_empty() {
            return true;
        }
        if begun.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send_all(counters: &Counters, signal: Signal) {
    for id in living(counters.root, counters.tree) {
        // It may have ended since; whether all are gone is looked at afterwards.
        let _ = process::send(id, signal);
    }
}

/// Processes in the group that are not merely waiting to be reaped.
fn living(root: &Root, tree: &Tree) -> Vec<u32> {
    let mut ids = tree.processes_below(GROUP);
    ids.retain(|id| !matches!(process::state(root, *id), None | Some('Z' | 'X')));
    ids
}
