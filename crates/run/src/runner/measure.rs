//! The measurement window: all workloads run and the sampler samples; the only other activity is starting
//! delayed workloads.

use std::time::Duration;

use assay_host::facts::Available;
use assay_record::sample::FirstIo;
use assay_study::Ends;
use assay_study::plan::Trial;
use assay_sys::kernel::Error;
use assay_sys::kernel::clock::monotonic_ns;

use crate::runner::delayed_start::DelayedStart;
use crate::runner::processes::{Process, pause};
use crate::runner::start::Starter;
use crate::runner::start_barrier::{Release, StartBarrier};
use crate::runner::watch::Watch;

/// Times and result of the window.
pub(crate) struct Window {
    pub(crate) release: Release,
    pub(crate) stopped_ns: u64,
    pub(crate) start_skew_s: Available<f64>,
    pub(crate) interrupted: bool,
}

/// How long to watch for the first I/O of every group.
const FIRST_IO: Duration = Duration::from_millis(250);

/// The workloads of a repeat: running and delayed ones.
pub(crate) struct Load<'l, 't> {
    pub(crate) processes: &'l mut Vec<Process>,
    pub(crate) delayed: &'l mut DelayedStart<'t>,
    pub(crate) starter: &'l Starter<'l>,
}

/// Releases the workloads and waits until the window's time is over, the workloads that determine its end are
/// done, or the user asks to stop. `on_progress` receives the elapsed time. A failed
/// workload does not end the window: the data of the other groups is kept.
pub(crate) fn measure(
    trial: &Trial,
    barrier: &StartBarrier,
    first_io: FirstIo,
    load: &mut Load<'_, '_>,
    watch: &mut Watch<'_>,
    on_progress: &mut dyn FnMut(Duration),
) -> Result<Window, Error> {
    watch.begin();
    let (release, skew) = barrier.release(|| first_io.skew(FIRST_IO));
    for process in &mut *load.processes {
        process.began_ns = Some(release.first_ns);
    }
    let start_skew_s = match skew {
        Ok(seconds) => Available::Value(seconds),
        Err(reason) => Available::NotAvailable(reason),
    };
    let mut interrupted = false;
    let end_ns = release.last_ns + u64::try_from(trial.at_most.as_nanos()).unwrap_or(u64::MAX / 2);
    let stopped_ns = loop {
        let now = monotonic_ns();
        let since_ns = now - release.last_ns;
        on_progress(Duration::from_nanos(since_ns));
        if now >= end_ns || interrupted {
            break now.min(end_ns);
        }
        load.delayed.start_due(since_ns, load.starter, load.processes)?;
        if load.is_over(trial.ends) {
            break now;
        }
        watch.look_if_due();
        let remaining = Duration::from_nanos(end_ns - now);
        interrupted = pause(remaining.min(Duration::from_millis(50)));
    };
    watch.end();
    Ok(Window { release, stopped_ns, start_skew_s, interrupted })
}

impl Load<'_, '_> {
    /// Whether the workloads have ended the window.
    fn is_over(&mut self, ends: Ends) -> bool {
        let mut states: Vec<State> = Vec::with_capacity(self.processes.len());
        for process in &mut *self.processes {
            let is_running = process.is_running();
            states.push(State {
                is_running,
                is_done: !is_running && !process.has_failed(),
                is_awaited: self.delayed.awaits(&process.workload),
                until_stopped: process.until_stopped,
            });
        }
        over(ends, &states, self.delayed.is_empty())
    }
}

/// State of a workload, as far as it affects the end of the window.
#[derive(Debug, Clone, Copy)]
struct State {
    is_running: bool,
    is_done: bool,
    is_awaited: bool,
    until_stopped: bool,
}

/// Whether a window with these workloads ends before its time. `all_started` means that no delayed workload
/// is waiting.
fn over(ends: Ends, states: &[State], all_started: bool) -> bool {
    // Groups that exist have processes of their own.
    if states.is_empty() {
        return false;
    }
    let any = |test: &dyn Fn(&State) -> bool| states.iter().any(test);
    let nothing_runs = all_started && !any(&|state| state.is_running);
    match ends {
        // One that another waits for hands over, and does not end anything.
        Ends::First => nothing_runs || any(&|state| state.is_done && !state.is_awaited),
        Ends::All => {
            let has_end = |state: &State| !state.until_stopped;
            let working = any(&|state| has_end(state) && state.is_running);
            nothing_runs || (all_started && any(&has_end) && !working)
        }
        // Where everything has failed there is nothing to wait for.
        Ends::Time => nothing_runs && !any(&|state| state.is_done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: State =
        State { is_running: true, is_done: false, is_awaited: false, until_stopped: false };
    const DONE: State = State { is_running: false, is_done: true, ..RUNNING };
    const FAILED: State = State { is_running: false, ..RUNNING };
    const ENDLESS: State = State { until_stopped: true, ..RUNNING };

    #[test]
    fn the_first_that_is_done_ends_the_window_unless_another_waits_for_it() {
        assert!(over(Ends::First, &[RUNNING, DONE], true));
        assert!(!over(Ends::First, &[RUNNING, FAILED], true));
        assert!(!over(Ends::First, &[State { is_awaited: true, ..DONE }], false));
        assert!(over(Ends::First, &[State { is_awaited: true, ..DONE }, DONE], true));
    }

    #[test]
    fn all_waits_for_those_that_have_an_end() {
        assert!(!over(Ends::All, &[DONE, RUNNING], true));
        assert!(!over(Ends::All, &[DONE], false), "one has not started");
        assert!(over(Ends::All, &[DONE, ENDLESS], true));
        assert!(!over(Ends::All, &[ENDLESS, ENDLESS], true), "only its time ends it");
    }

    #[test]
    fn a_window_without_workloads_has_its_time() {
        assert!([Ends::First, Ends::All, Ends::Time].iter().all(|ends| !over(*ends, &[], true)));
    }

    #[test]
    fn time_is_ended_by_nothing_but_failure_of_all() {
        assert!(!over(Ends::Time, &[DONE, DONE], true));
        assert!(over(Ends::Time, &[FAILED, FAILED], true));
    }
}
