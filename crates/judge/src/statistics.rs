//! Statistics of dependent series: how sure one may be of a share.

pub(crate) mod block_length;
pub(crate) mod bootstrap;
pub(crate) mod estimate;
pub(crate) mod jain;
pub(crate) mod over_repeats;
pub(crate) mod student;
