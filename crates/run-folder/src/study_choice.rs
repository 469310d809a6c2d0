//! How the caller of a run chose its study.

use serde::{Deserialize, Serialize};

use crate::stop::StopRecord;

/// The study as it was named, and the overrides that were applied to its text. The seed is in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyChoiceRecord {
    /// The study file, or the name of a shipped study.
    pub study: String,
    /// Whether the sizes and times of the document were used that the study repeats.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub published: bool,
    /// Values of factors, each as `FACTOR=VALUE[,VALUE]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Number of repeats of each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Maximum length of a repeat, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_s: Option<f64>,
    /// When a trial ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopRecord>,
    /// The disk, as in `--disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// The I/O scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Whether evidence was requested in addition to what the study samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evidence: bool,
}
