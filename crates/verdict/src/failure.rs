//! Why a run has no verdict.

use serde::{Deserialize, Serialize};

/// The end of a run for the program that started it (`assay run --errors-json`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunErrors {
    /// Version of this format.
    pub schema: u32,
    /// The exit code (docs/cli.md).
    pub code: i32,
    /// Every error, in the order in which they occurred; each may have a hint on a line of its own.
    pub errors: Vec<String>,
}

impl RunErrors {
    /// The version of this format.
    pub const SCHEMA: u32 = 1;
}
