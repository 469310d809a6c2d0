//! One file per kind of workload.

pub(crate) mod bandwidth;
pub(crate) mod blackscholes;
pub(crate) mod build;
pub(crate) mod chase;
pub(crate) mod filebench;
pub(crate) mod graph500;
pub(crate) mod hog;
pub(crate) mod latency;
pub(crate) mod pages;
pub(crate) mod spin;
pub(crate) mod streamcluster;
pub(crate) mod stressapptest;
pub(crate) mod ycsb;
