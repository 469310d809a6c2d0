//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod blame;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod groups;
pub(crate) mod host;
pub(crate) mod judge;
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod passport;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod sample;
pub(crate) mod studies;
pub(crate) mod tune;
