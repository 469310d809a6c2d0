//! Predicts the results of a study before anything is measured.
//!
//! `Study` x facts x calibration -> [`Prediction`]: the share of each group, the number of groups from which
//! on a promise breaks, the throughput, and the verdict. A pure function of its arguments, including a seed;
//! it reads no host and no clock. docs/predicting.md explains how it works and how accurate it is.
//!
//! ```text
//! trial of the plan + calibration -> Scenario -> simulation or formula -> TrialPrediction
//!                                                                              |
//!                                          judgement of the run  ----------> Score
//! ```

mod calibration;
mod from_plan;
mod noise;
mod predict;
mod scenario;
mod shares;
mod sim;
mod validated_range;

pub use assay_verdict::{
    Basis, GroupPrediction, KneePrediction, Prediction, PromisePrediction, PromiseScore, Score,
    TrialPrediction, TrialScore, score, share_error,
};

pub use calibration::{Calibration, Cost, Costs, Fitted, Measurement, RequestKind};
pub use from_plan::{PlannedTrial, disk_of, from_plan};
pub use predict::predict;
pub use scenario::{Bfq, Device, Member, Scenario, Scheduler};
pub use shares::{capped, ladder_knee, weighted_jain};
pub use sim::{Effort, Simulated, simulate};
pub use validated_range::out_of_range;
