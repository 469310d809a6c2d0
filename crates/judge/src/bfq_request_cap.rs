//! How many requests BFQ lets a group hold at once.
//!
//! Since 5.17 (76f1df88bbc2, `bfq_limit_depth` in block/bfq-iosched.c) a group that holds its
//! weight's part of the scheduler's pool is over its limit, and gets further tags from a depth of
//! one: one per word of the tag map, and since 6.17 (42e6c6ce03fd, also in 6.12.43) one of the whole map. Further requests wait in
//! front of the scheduler, where weights do not apply. Reads may use the whole pool, direct writes
//! three quarters of it (`async_depths`).

use assay_run_folder::TrialRecord;

/// The part of the pool that a group with direct writes may use while no queue is raised.
pub const WRITER_PART: f64 = 0.75;

/// Demand and cap of one group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// Index among the measured groups.
    pub group: usize,
    /// Requests that its workloads keep outstanding; those that merge while waiting count once.
    pub demand: f64,
    /// Requests that it may hold: that part, rounded to nearest as the kernel does. 0 where it is less than half a
    /// request, though one still passes at a depth of one.
    pub cap: f64,
    /// Its part of the pool.
    pub part: f64,
}

impl Cap {
    /// Whether the demand exceeds the cap.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.demand > self.cap
    }

    /// Whether it has a place more than its demand: one that keeps just as many can still be held back
    /// (docs/findings/bfq-cap.md).
    #[must_use]
    pub fn has_spare_place(&self) -> bool {
        self.demand + 1.0 <= self.cap
    }

    /// The same with another demand.
    #[must_use]
    pub const fn with_demand(&self, demand: f64) -> Self {
        Self { demand, ..*self }
    }

    /// The same of a pool so many times as large.
    #[must_use]
    pub fn of_pool(&self, times: f64) -> Self {
        let part = self.part * times;
        Self { cap: part.round(), part, ..*self }
    }
}

/// The caps of groups with these shares of the weights; groups of unknown demand are left out.
#[must_use]
pub fn group_caps<'n>(
    trial: &TrialRecord,
    groups: impl Iterator<Item = (&'n str, f64)>,
    pool: f64,
) -> Vec<Cap> {
    let found = groups.enumerate().filter_map(|(group, (name, share))| {
        let record = trial.groups.iter().find(|record| record.name == name)?;
        let mut demand = 0.0;
        let mut writes = false;
        for workload in &record.workloads {
            let io = &workload.io;
            // Reads between writes, or writes between reads, prevent merging.
            let merges = io.sequential && io.reads != io.writes;
            demand += if merges { 1.0 } else { f64::from(io.outstanding?) };
            writes |= io.writes;
        }
        let part = if writes { WRITER_PART } else { 1.0 };
        let part = part * pool * share;
        Some(Cap { group, demand, cap: part.round(), part })
    });
    found.collect()
}
