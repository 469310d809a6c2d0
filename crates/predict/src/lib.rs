//! Predicts the results of a study before anything is measured.
//!
//! `Study` x facts x calibration -> [`Prediction`]: the share of each group, the number of groups from which
//! on a promise breaks, the throughput, and the verdict. A pure function of its arguments, of closed formulas
//! alone; it reads no host and no clock. docs/predicting.md explains how it works and how accurate it is.
//!
//! ```text
//! trial of the plan + calibration -> Scenario -> formula -> TrialPrediction
//!                                                                |
//!                             judgement of the run  ----------> Score
//! ```

mod bfq;
mod calibration;
mod from_plan;
mod predict;
mod scenario;
mod supported;
mod validated_range;

pub use assay_verdict::{
    Basis, GroupPrediction, KneePrediction, Prediction, PromisePrediction, PromiseScore, Score,
    TrialPrediction, TrialScore, score, share_error,
};

pub use bfq::{cap, shares};
pub use calibration::{Calibration, Cost, Costs, Measurement, RequestKind};
pub use from_plan::{PlannedTrial, disk_of, from_plan};
pub use predict::predict;
pub use scenario::{Device, Member, Scenario, Scheduler};
pub use supported::supported_verdict;
pub use validated_range::out_of_range;
