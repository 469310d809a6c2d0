//! Which change to try next, and what the results show: `explain` finds the change that removes a
//! promise's error, `tune` the setting that keeps it at the highest throughput.
//!
//! Runs are started elsewhere and judged by `assay-judge`; this crate plans them and combines their
//! verdicts. Like a judgement it is a pure function of what was recorded.

mod explain;
pub mod iocost;
mod tune;

pub use explain::{
    Arm, ArmResult, CauseFinding, Effect, Expect, Explanation, FRESH, Finding, Follows, Fresh,
    GroupsWithin, PERMUTE, Prediction, Question, Rounds, ScoredPrediction, excluded, explain,
    predict,
};
pub use tune::{
    Assessment, Budget, Measured, Move, NotTried, Outcome, Search, SearchRun, SettingPool,
    SettingResult, TriedSetting, Tuning, frontier, is_work, tuning,
};
