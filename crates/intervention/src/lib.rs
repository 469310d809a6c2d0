//! What to change next, and what it came to: which change takes a promise's error away (`explain`),
//! and which setting keeps it at the highest throughput (`tune`).
//!
//! Runs are started elsewhere and judged by `judge`; here stands which of them to make, and what
//! their verdicts say together. Like a judgement it is a pure function of what was recorded.

mod explain;
mod tune;

pub use explain::{
    Arm, ArmResult, Effect, Expect, Explained, Explanation, FRESH, Finding, Follows, Fresh,
    PERMUTE, Prediction, Question, Rounds, Scored, excluded, explain, predict,
};
pub use tune::{
    Assessment, Budget, Field, Measured, Move, NotTried, Outcome, Search, SettingResult, Tried,
    Tuned, Tuning, frontier, rate_ratio, tuning,
};
