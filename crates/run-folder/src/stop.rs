//! When trials end.

use serde::{Deserialize, Serialize};

/// When a trial ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// After all its planned repeats.
    #[default]
    AtMost,
    /// At the first look that decides its promises.
    Decided,
}
