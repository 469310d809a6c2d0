//! Slurm's time limit of a task, and the advance of its signal.

use std::time::Duration;

/// A time limit for sbatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Minutes, Slurm's unit.
    pub minutes: u64,
    /// SIGTERM is sent this many seconds before the limit.
    pub signal_ahead_s: u64,
}

/// Time of a repeat besides its window: disks, groups, file layout, writing samples.
const SET_UP: Duration = Duration::from_secs(60);

/// Time to restore the host and write results. Slurm may send its signal up to a minute earlier
/// than requested (sbatch(1), `--signal`), but never later.
const SIGNAL_AHEAD: Duration = Duration::from_secs(120);

/// Time of a task before and after its run: inspecting the host, restoring changes of a killed run,
/// judging.
const AROUND: Duration = Duration::from_secs(120);

/// The limit for a plan whose windows take `windows` in total, over `repeats` repeats. A quarter is added to the known part; unbounded
/// parts, such as a workload's preparation, need `--timeout`.
#[must_use]
pub fn limit(windows: Duration, repeats: usize) -> Limit {
    let repeats = u32::try_from(repeats).unwrap_or(u32::MAX);
    let set_up = SET_UP.saturating_mul(repeats).saturating_add(AROUND);
    with_margins(windows.saturating_add(windows / 4).saturating_add(set_up))
}

/// The limit for a task of this total duration.
fn with_margins(run: Duration) -> Limit {
    let whole = run.saturating_add(SIGNAL_AHEAD + Duration::from_secs(60));
    Limit { minutes: whole.as_secs().div_ceil(60), signal_ahead_s: SIGNAL_AHEAD.as_secs() }
}

impl Limit {
    /// The limit for a run duration given by the user.
    #[must_use]
    pub fn for_run(run: Duration) -> Self {
        with_margins(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_includes_windows_setup_and_restore() {
        // 20 s and a quarter, 60 s of set-up, 120 s around, 120 s for the signal, 60 s for Slurm.
        assert_eq!(limit(Duration::from_secs(20), 1), Limit { minutes: 7, signal_ahead_s: 120 });
        let long = limit(Duration::from_secs(3600), 3);
        assert_eq!(long.minutes, (4500_u64 + 180 + 120 + 180).div_ceil(60));
        assert_eq!(Limit::for_run(Duration::from_secs(600)).minutes, 13);
        assert_eq!(Limit::for_run(Duration::MAX), limit(Duration::MAX, usize::MAX));
    }
}
