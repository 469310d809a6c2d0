//! How long Slurm lets a task run, and how long before the end it says so.

use std::time::Duration;

/// A limit as Slurm takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Minutes, Slurm's unit.
    pub minutes: u64,
    /// SIGTERM comes this many seconds before.
    pub signal_ahead_s: u64,
}

/// What a repeat takes besides its window: disks, groups, files laid out, samples written.
const SET_UP: Duration = Duration::from_secs(60);

/// Time to put a host back and write what there is. Slurm may send its signal up to a minute
/// earlier than asked (sbatch(1), `--signal`), but never later.
const SIGNAL_AHEAD: Duration = Duration::from_secs(120);

/// What a task takes before and after its run: reading the host, taking back what a killed run
/// left, judging.
const AROUND: Duration = Duration::from_secs(120);

/// The limit for a plan whose windows take `windows` in all, in so many repeats, where `turns`
/// tasks wait for each other on one host. A quarter is added to what is known, and more cannot be
/// told: a workload's preparation may take as long as it likes (`--time-limit`).
#[must_use]
pub fn limit(windows: Duration, repeats: usize, turns: usize) -> Limit {
    let repeats = u32::try_from(repeats).unwrap_or(u32::MAX);
    let turns = u32::try_from(turns.max(1)).unwrap_or(u32::MAX);
    let run = windows + windows / 4 + SET_UP.saturating_mul(repeats) + AROUND;
    of_run(run.saturating_mul(turns))
}

/// The limit for a task that takes so long, all in all.
fn of_run(run: Duration) -> Limit {
    let whole = run + SIGNAL_AHEAD + Duration::from_secs(60);
    Limit { minutes: whole.as_secs().div_ceil(60), signal_ahead_s: SIGNAL_AHEAD.as_secs() }
}

impl Limit {
    /// The limit that somebody asked for, who knows what a run takes.
    #[must_use]
    pub fn asked(run: Duration) -> Self {
        of_run(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_room_for_windows_set_up_and_restore() {
        // 20 s and a quarter, 60 s of set-up, 120 s around, 120 s for the signal, 60 s for Slurm.
        assert_eq!(limit(Duration::from_secs(20), 1, 1), Limit { minutes: 7, signal_ahead_s: 120 });
        let long = limit(Duration::from_secs(3600), 3, 1);
        assert_eq!(long.minutes, (4500_u64 + 180 + 120 + 180).div_ceil(60));
        let shared = limit(Duration::from_secs(20), 1, 4);
        assert_eq!(shared.minutes, (4_u64 * (25 + 60 + 120) + 180).div_ceil(60));
        assert_eq!(Limit::asked(Duration::from_secs(600)).minutes, 13);
    }
}
