//! Values that changed during a repeat.

use assay_facts::Available;
use serde::{Deserialize, Serialize};

/// Changes of a value during a repeat, whether or not it was changed back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The first reading that differs from the one at the start.
    pub first: TimedReading,
    /// The last such reading.
    pub last: TimedReading,
    /// How many readings differ.
    pub readings: u64,
}

/// A reading with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedReading {
    /// CLOCK_MONOTONIC nanoseconds.
    pub time_ns: u64,
    /// The value read.
    pub value: Available<String>,
}
