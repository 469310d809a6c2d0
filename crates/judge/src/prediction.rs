//! Documents of predictions, and their comparison with results.
//!
//! `assay-predict` makes predictions. Their documents are defined here, next to the verdicts they
//! are compared with, so that code that only displays them needs neither the simulation nor the
//! plan.

mod document;
mod score;

pub use document::{
    Basis, GroupPrediction, KneePrediction, Prediction, PromisePrediction, TrialPrediction,
};
pub use score::{PromiseScore, Score, TrialScore, score, share_error};
