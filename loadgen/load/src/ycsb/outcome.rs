//! The results of a run.

use super::measure::Measurements;
use super::rocksdb::remedy;
use super::store::Status;
use crate::failure::Failure;

/// A finished run.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Start in CLOCK_MONOTONIC nanoseconds.
    pub(super) began: u64,
    /// How long the store took to open.
    pub(super) opening_ns: u64,
    /// From before the store was opened until it was closed.
    pub(super) runtime_ms: u64,
    /// Operations of all threads; a read-modify-write is one.
    pub(super) done: u64,
    /// CPU time of the process over the same span, if known.
    pub(super) cpu_ns: Option<u64>,
    pub(super) measurements: Measurements,
    /// The text of the store's first error.
    pub(super) first_error: Option<String>,
    /// The signal that ended it early.
    pub(super) ended_by: Option<&'static str>,
    /// Status lines that are also printed on stdout.
    pub(super) status_lines: Vec<String>,
}

impl Outcome {
    /// Operations per second, by YCSB's arithmetic.
    pub(super) fn throughput(&self) -> f64 {
        1000.0 * self.done as f64 / self.runtime_ms as f64
    }

    /// Operations that failed or returned other data than was written. A missing record is neither:
    /// it is a valid answer, counted in the output.
    pub(super) fn failed(&self) -> u64 {
        self.measurements.returned_by_any(Status::Error)
            + self.measurements.returned_by_any(Status::UnexpectedState)
    }

    /// The result is void if operations failed.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let failed = self.failed();
        if failed == 0 {
            return Ok(());
        }
        Err(Failure::Wrong(match &self.first_error {
            Some(text) => {
                format!("{failed} operations failed; the first: {text}\n  hint: {}", remedy(text))
            }
            None => format!(
                "{failed} records differ from what was written (VERIFY)\n  hint: load them with \
                 dataintegrity=true and the same fieldlength"
            ),
        }))
    }
}
