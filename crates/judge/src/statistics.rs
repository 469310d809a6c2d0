//! Statistics of repeats and of dependent series: how sure one may be of a share.

pub(crate) mod batches;
pub(crate) mod jain;
pub(crate) mod memory;
pub(crate) mod over_repeats;
pub(crate) mod poisson;
pub(crate) mod pooled;
pub(crate) mod proportion;
mod scatter;
pub(crate) mod student;
