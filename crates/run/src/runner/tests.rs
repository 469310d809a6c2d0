//! Runs on a host of files: no root, no control group and no disk of this machine is needed.

pub(crate) mod fake_host;
mod messages;
mod records;
mod repeats;
mod workloads;
