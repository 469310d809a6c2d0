//! Kinds of workloads whose output is not that of `assay-load`.

pub(crate) mod stressapptest;
pub(crate) mod ycsb;
