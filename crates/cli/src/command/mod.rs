//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod conform;
pub(crate) mod diagnose;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod fairness;
pub(crate) mod fleet;
pub(crate) mod generate;
pub(crate) mod host;
pub(crate) mod judge;
pub(crate) mod lab;
pub(crate) mod probe;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod top;
pub(crate) mod tune;
