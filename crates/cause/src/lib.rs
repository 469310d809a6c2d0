//! Why a promise was not kept, and what helps: the catalogue of causes, and experiments.
//!
//! [`causes`] suspects and proves causes from what was recorded. [`experiment`] runs a study with changes, in turns:
//! `explain` finds the change that removes a promise's error, `tune` the setting that keeps it at the highest
//! throughput. Which change to try next, and what the results show, are pure functions of what was recorded.

pub mod cause_docs;
pub mod causes;
pub mod conclude;
pub mod experiment;
mod explain;
pub mod iocost;
mod judge;
pub mod several_runs;
pub mod tune;

#[cfg(test)]
#[path = "../../run/tests/support/replay.rs"]
mod replay;
#[cfg(test)]
#[path = "../../run/tests/support/transcript.rs"]
mod transcript;

pub use explain::{
    Arm, ArmResult, CauseFinding, Effect, Expect, Explanation, FRESH, Finding, Follows, Fresh,
    GroupsWithin, PERMUTE, Prediction, Question, Rounds, ScoredPrediction, excluded, explain,
    explanation_text, predict,
};
pub use judge::{judge, judge_together};
pub use tune::{
    Assessment, Budget, Measured, Move, NotTried, Outcome, Search, SearchRun, SettingPool,
    SettingResult, TriedSetting, Tuning, is_work, tuning, tuning_text,
};
