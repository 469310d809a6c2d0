//! What a study will find, before anything is measured.
//!
//! `Study` x facts x calibration -> [`Prediction`]: the share of each group, the number of groups
//! from which on a promise breaks, the throughput, and the verdict. A pure function of what it is
//! given, a seed included; it reads no host and no clock. How it works and how far it can be
//! believed is told for users in docs/predicting.md.
//!
//! ```text
//! trial of the plan + calibration -> Question -> simulation or formula -> TrialPrediction
//!                                                                              |
//!                                          judgement of the run  ----------> Score
//! ```

mod asked;
mod calibration;
mod noise;
mod outside;
mod predict;
mod question;
mod shares;
mod sim;

pub use assay_judge::prediction::{
    Basis, GroupPrediction, KneePrediction, Prediction, PromisePrediction, PromiseScore, Score,
    TrialPrediction, TrialScore, score, share_error,
};

pub use asked::{Asked, asked, disk_of};
pub use calibration::{Calibration, Cost, Costs, Fitted, RequestKind, Taken};
pub use outside::outside;
pub use predict::predict;
pub use question::{Bfq, Device, Member, Question, Scheduler};
pub use shares::{capped, ladder_knee, weighted_jain};
pub use sim::{Effort, Simulated, simulate};
