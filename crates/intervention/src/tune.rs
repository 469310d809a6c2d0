//! Which setting keeps a promise at the highest throughput: the search, and what it came to.
//!
//! Settings are tried in short repeats, in turns with the setting as it is. Each rung keeps those
//! that look best and gives them more repeats (successive halving; Karnin, Koren and Somekh 2013,
//! Jamieson and Talwalkar 2016). Whoever looks at many settings and takes the best takes a lucky
//! one, so the best few are measured again, and only that data says what they keep.

mod assessment;
mod conclude;
mod search;
mod sentence;

use serde::{Deserialize, Serialize};

use assay_verdict::{Interval, Verdict};

pub use assessment::{Assessment, frontier};
pub use conclude::{Tried, Tuned, rate_ratio, tuning};
pub use search::{Budget, Field, Move, Search};

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Fresh repeats of a setting keep the promise.
    Found,
    /// Every setting that this host allows breaks it, each by its interval.
    NoneKeeps,
    /// Neither is shown.
    Undecided,
}

/// What repeats of a setting showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Repeats that count.
    pub repeats: usize,
    /// Seconds of window, all repeats together.
    pub window_s: f64,
    /// The verdict on all promises of the trial.
    pub verdict: Verdict,
    /// The largest relative error of any group, of the promise that is farthest from its margin.
    pub error: Option<Interval>,
    /// The rate of all groups together, of the first promise's measure.
    pub rate: Option<f64>,
    /// The verdict's reason.
    pub reason: String,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingResult {
    /// Its name: `unchanged`, `max-budget=64`, or several joined by ` + `.
    pub name: String,
    /// What it changes, in words.
    pub change: String,
    /// How many things it changes.
    pub changes: usize,
    /// What to write into the study to have it; empty for the study as it is.
    pub lines: Vec<String>,
    /// What the search saw of it: the data that chose.
    pub search: Option<Measured>,
    /// After which rung it was left out; `None` for what was confirmed or still there at the end.
    pub left_out_after: Option<u32>,
    /// What fresh repeats showed, which took no part in the choice.
    pub confirmation: Option<Measured>,
    /// Its rate over that of the unchanged setting, by pairs of fresh repeats.
    pub rate_ratio: Option<Interval>,
    /// Its error over that of the unchanged setting, both from fresh repeats.
    pub error_ratio: Option<Interval>,
    /// Whether no other setting has a smaller error and a higher rate.
    pub on_frontier: bool,
}

/// A setting that could not be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
    /// Whether it was for want of time: then nothing is said of it.
    pub for_time: bool,
}

/// `tune.json`, schema 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Version of this format.
    pub schema: u32,
    /// The study.
    pub study: String,
    /// The measure of the first promise, `io.bytes`.
    pub measure: String,
    /// Its margin.
    pub within: f64,
    /// The confidence of the intervals of the search.
    pub search_confidence: f64,
    /// That of the confirmation, which is stricter the more settings were confirmed.
    pub confirmation_confidence: f64,
    /// What it came to.
    pub outcome: Outcome,
    /// The name of the setting that was chosen.
    pub chosen: Option<String>,
    /// The study's own lines for it.
    pub lines: Vec<String>,
    /// Every setting that was tried, `unchanged` first.
    pub settings: Vec<SettingResult>,
    /// Those that were not.
    pub not_tried: Vec<NotTried>,
    /// Whether the search was ended early.
    pub ended_early: bool,
    /// What it all comes to.
    pub sentence: String,
}

impl Tuning {
    /// The setting of this name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&SettingResult> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

impl SettingResult {
    /// The fresh data where there is any, else that of the search.
    #[must_use]
    pub fn best_data(&self) -> Option<&Measured> {
        self.confirmation.as_ref().or(self.search.as_ref())
    }
}
