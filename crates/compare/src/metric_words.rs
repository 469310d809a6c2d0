//! Words in the names of workload metrics, from which their direction and their kind follow.

/// Units of data that are counted.
pub(super) const DATA: [&str; 7] = ["bytes", "kb", "mb", "gb", "kib", "mib", "gib"];

/// What is counted as work.
pub(super) const WORK: [&str; 7] =
    ["ios", "ops", "requests", "operations", "transactions", "packets", "messages"];

/// What should not happen, as it is counted.
pub(super) const FAILURES: [&str; 7] =
    ["errors", "drops", "dropped", "timeouts", "faults", "failed", "failures"];
