//! When repeats end, and the looks at their data that decide it.

use serde::{Deserialize, Serialize};

/// When a repeat ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// When its planned time is over.
    #[default]
    AtMost,
    /// As soon as every promise is known precisely enough, at the latest when its planned time is over. Older
    /// records hold `decided`: as soon as every promise had a verdict.
    #[serde(alias = "decided")]
    Precise,
}

/// The interim looks at the data of a repeat that check whether it is precise enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LooksRecord {
    /// Number of looks before the end.
    pub taken: u32,
    /// In older records, whose repeats ended with a verdict: the part of the promise's error (one less its
    /// confidence) that the last analysis may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<f64>,
    /// Whether a look ended the repeat.
    pub decided: bool,
    /// CPU seconds of all looks.
    pub cpu_s: f64,
    /// End of the data used by the look that ended the repeat; the verdict uses the same data. `None` if no
    /// look ended it, and in records from before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_until_ns: Option<u64>,
}
