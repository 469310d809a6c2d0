//! Captured output of a workload and the metrics parsed from it.

use std::collections::BTreeMap;

use assay_run_folder::{Curve, Latency, Phase};

/// The output of a process.
#[derive(Debug, Clone, Copy)]
pub struct CapturedOutput<'s> {
    /// Its standard output.
    pub stdout: &'s str,
    /// Its standard error.
    pub stderr: &'s str,
}

/// Metrics and other data parsed from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Why the metrics are invalid.
    pub failure: Option<String>,
    /// Seconds measured by the tool itself.
    pub runtime_s: Option<f64>,
    /// Metrics by name, with the unit in the name.
    pub metrics: BTreeMap<String, f64>,
    /// Metrics that are not available, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Latency by operation.
    pub latency: BTreeMap<String, Latency>,
    /// Its phases with their times.
    pub phases: Vec<Phase>,
    /// Curves to draw.
    pub curves: Vec<Curve>,
    /// What a user should know before interpreting the metrics.
    pub findings: Vec<String>,
}
