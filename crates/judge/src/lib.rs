//! Run -> [`Judgement`]: statistics, promises, validity gates and causes.
//!
//! A pure function: it reads no host and no clock, and the same run with the same version gives
//! the same judgement, byte for byte.

mod judgement;

pub use judgement::{
    Cause, Check, GroupJudgement, Interval, Judgement, PromiseJudgement, TrialJudgement, Verdict,
};
