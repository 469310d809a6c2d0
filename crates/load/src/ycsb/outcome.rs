//! What a run has found.

use super::measure::Book;
use super::rocksdb::remedy;
use super::store::Status;
use crate::failure::Failure;

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// When it began, in nanoseconds of CLOCK_MONOTONIC.
    pub(super) began: u64,
    /// How long the store took to open.
    pub(super) opening_ns: u64,
    /// From before the store was opened until it was closed.
    pub(super) runtime_ms: u64,
    /// Operations of all threads; a read-modify-write is one.
    pub(super) done: u64,
    /// CPU time of the process over the same span, where it is known.
    pub(super) cpu_ns: Option<u64>,
    pub(super) book: Book,
    /// The first error of the store, in its words.
    pub(super) trouble: Option<String>,
    /// The signal that ended it early.
    pub(super) ended_by: Option<&'static str>,
    /// Status lines that belong on stdout too.
    pub(super) status_lines: Vec<String>,
}

impl Outcome {
    /// Operations a second, by YCSB's arithmetic.
    pub(super) fn throughput(&self) -> f64 {
        1000.0 * self.done as f64 / self.runtime_ms as f64
    }

    /// Operations that failed or brought back something else than was written. A record that is
    /// not there is neither: it has an answer, and a count in the output.
    pub(super) fn failed(&self) -> u64 {
        self.book.returned_at_all(Status::Error)
            + self.book.returned_at_all(Status::UnexpectedState)
    }

    /// The result is worth nothing when operations failed.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let failed = self.failed();
        if failed == 0 {
            return Ok(());
        }
        Err(Failure::Wrong(match &self.trouble {
            Some(text) => {
                format!("{failed} operations failed; the first: {text}\n  hint: {}", remedy(text))
            }
            None => format!(
                "{failed} records were not as they were written (VERIFY)\n  hint: load them with \
                 dataintegrity=true and the same fieldlength"
            ),
        }))
    }
}
