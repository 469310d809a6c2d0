//! Statistics of repeats and of autocorrelated series.

pub(crate) mod batches;
pub(crate) mod jain;
pub(crate) mod memory;
pub(crate) mod over_repeats;
pub(crate) mod poisson;
pub(crate) mod pooled;
pub(crate) mod proportion;
mod scatter;
pub(crate) mod student;
