//! How many requests BFQ lets a group have at once.
//!
//! Since 5.17 (76f1df88bbc2, `bfq_limit_depth` in block/bfq-iosched.c) a group that holds its
//! weight's part of the scheduler's pool is over its limit, and gets further requests out of a
//! depth of one: one for each word of the map of tags, and since 6.18 one of the whole map. What
//! it wants beyond that waits in front of the scheduler, where no weight is looked at. Of the pool
//! reads count all, and direct writes three quarters (`async_depths`).

use assay_run_folder::TrialRecord;

/// The part of the pool that a group with direct writes may have while no queue is raised.
pub const OF_WRITERS: f64 = 0.75;

/// Requests that a group may hold of `pool` for its `weight` among those that weigh `all`, rounded
/// to the nearest as the kernel does; 0 where its part is less than half a request, though one
/// goes through a depth of one.
#[must_use]
pub fn request_cap(pool: f64, weight: f64, all: f64) -> f64 {
    (pool * weight / all).round()
}

/// What one group wants and may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// Its place among the measured groups.
    pub group: usize,
    /// Requests that its workloads keep outstanding, those counted once that merge while they
    /// wait.
    pub wanted: f64,
    /// Requests that it may hold.
    pub cap: f64,
}

impl Cap {
    /// Whether it wants more than it may have.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.wanted > self.cap
    }
}

/// The cap of each of these groups, whose shares of the weights are given; groups of which it is
/// not known how much they want are left out.
#[must_use]
pub fn of_groups<'n>(
    trial: &TrialRecord,
    groups: impl Iterator<Item = (&'n str, f64)>,
    pool: f64,
) -> Vec<Cap> {
    let found = groups.enumerate().filter_map(|(group, (name, share))| {
        let record = trial.groups.iter().find(|record| record.name == name)?;
        let mut wanted = 0.0;
        let mut writes = false;
        for workload in &record.workloads {
            let io = &workload.io;
            // Reads between writes, or writes between reads, keep neighbours from merging.
            let merges = io.sequential && io.reads != io.writes;
            wanted += if merges { 1.0 } else { f64::from(io.outstanding?) };
            writes |= io.writes;
        }
        let part = if writes { OF_WRITERS } else { 1.0 };
        Some(Cap { group, wanted, cap: request_cap(part * pool, share, 1.0) })
    });
    found.collect()
}
