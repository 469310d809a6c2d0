//! What a workload has said, and what that comes to.

use std::collections::BTreeMap;

use assay_run_folder::{Curve, Latency, Phase};

/// Everything that a process wrote.
#[derive(Debug, Clone, Copy)]
pub struct CapturedOutput<'s> {
    /// On standard output.
    pub stdout: &'s str,
    /// On standard error.
    pub stderr: &'s str,
}

/// The same as numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Why it is not to be believed.
    pub failure: Option<String>,
    /// Seconds that the tool itself measured.
    pub runtime_s: Option<f64>,
    /// Numbers by name, the unit in the name.
    pub metrics: BTreeMap<String, f64>,
    /// Numbers that were wanted and are not there, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Latency by operation.
    pub latency: BTreeMap<String, Latency>,
    /// What it did when.
    pub phases: Vec<Phase>,
    /// Curves to be drawn.
    pub curves: Vec<Curve>,
    /// What a user should know before looking at its numbers.
    pub findings: Vec<String>,
}
