//! Search for the setting that keeps a promise at the highest throughput, and its result.
//!
//! Settings are tried in short repeats, interleaved with the unchanged setting. Each rung keeps the
//! best ones and gives them more repeats (successive halving; Karnin, Koren and Somekh 2013,
//! Jamieson and Talwalkar 2016). The best of many measured settings is partly a lucky one, so the
//! best few are measured again, and only the fresh data decides.

mod assessment;
mod conclude;
mod page;
mod search;
mod sentence;

use assay_judge::verdict::{Interval, Verdict};
use serde::{Deserialize, Serialize};

pub use assessment::{Assessment, is_work};
pub use conclude::{SearchRun, TriedSetting, tuning};
pub use page::{section, text as tuning_text};
pub use search::{Budget, Move, Search, SettingPool};

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Fresh repeats of a setting keep the promise.
    Found,
    /// Every setting available on this host breaks it, each by its interval.
    NoneKeeps,
    /// Neither is shown.
    Undecided,
}

/// Measurements of one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Repeats that count.
    pub repeats: usize,
    /// Seconds of window over all repeats.
    pub window_s: f64,
    /// Verdict on all promises of the trial.
    pub verdict: Verdict,
    /// Largest relative error of any group, of the promise farthest from its margin.
    pub error: Option<Interval>,
    /// Total rate of all groups, of the first promise's measure.
    pub rate: Option<f64>,
    /// Reason of the verdict.
    pub reason: String,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingResult {
    /// Its name: `unchanged`, `max-budget=64`, or several joined by ` + `.
    pub name: String,
    /// The change in words.
    pub change: String,
    /// Number of things it changes.
    pub changes: usize,
    /// Lines to write into the study; empty for the study as it is.
    pub lines: Vec<String>,
    /// Measurements of the search, which chose the finalists.
    pub search: Option<Measured>,
    /// Rung after which it was dropped; `None` for finalists and settings never dropped.
    pub left_out_after: Option<u32>,
    /// Measurements of the confirmation, independent of the choice.
    pub confirmation: Option<Measured>,
    /// Its rate relative to the unchanged setting, by pairs of fresh repeats, where that is of work.
    pub rate_ratio: Option<Interval>,
    /// Its error relative to the unchanged setting, both from fresh repeats.
    pub error_ratio: Option<Interval>,
}

/// A setting that could not be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
    /// Whether time ran out: then nothing is known about it.
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
    /// The outcome.
    pub outcome: Outcome,
    /// Name of the chosen setting.
    pub chosen: Option<String>,
    /// The study lines of the chosen setting.
    pub lines: Vec<String>,
    /// Every setting tried, `unchanged` first.
    pub settings: Vec<SettingResult>,
    /// Settings that were not tried.
    pub not_tried: Vec<NotTried>,
    /// Whether the search was ended early.
    pub ended_early: bool,
    /// Summary.
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
    /// The fresh measurements where there are any, otherwise those of the search. A void
    /// confirmation, or one by a single repeat that does not keep the promise, does not hide a search
    /// with more.
    #[must_use]
    pub fn best_data(&self) -> Option<&Measured> {
        let fresh = self.confirmation.as_ref();
        let search = self.search.as_ref();
        let says_little = |data: &&Measured| match data.verdict {
            Verdict::Void => true,
            Verdict::Kept => false,
            Verdict::Broken | Verdict::Undecided => data.repeats < 2,
        };
        let says_more = |data: &&Measured| data.verdict != Verdict::Void && data.repeats > 1;
        let instead = fresh.filter(says_little).and(search.filter(says_more));
        instead.or(fresh).or(search)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(repeats: usize, verdict: Verdict) -> Measured {
        let reason = String::new();
        Measured { repeats, window_s: 10.0, verdict, error: None, rate: None, reason }
    }

    fn best_data(fresh: Measured) -> Measured {
        let setting = SettingResult {
            name: "a".to_owned(),
            change: "a".to_owned(),
            changes: 1,
            lines: Vec::new(),
            search: Some(measured(4, Verdict::Broken)),
            left_out_after: None,
            confirmation: Some(fresh),
            rate_ratio: None,
            error_ratio: None,
        };
        setting.best_data().unwrap().clone()
    }

    #[test]
    fn one_fresh_repeat_or_void_ones_do_not_hide_those_of_the_search() {
        for little in [measured(1, Verdict::Undecided), measured(3, Verdict::Void)] {
            assert_eq!(best_data(little).repeats, 4);
        }
        for enough in [measured(2, Verdict::Undecided), measured(1, Verdict::Kept)] {
            assert_eq!(best_data(enough.clone()), enough);
        }
    }
}
