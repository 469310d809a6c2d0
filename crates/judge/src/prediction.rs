//! What was expected before anything was measured, as documents, and how near it came.
//!
//! `assay-predict` makes predictions. Their documents stand here, beside the verdicts that they are
//! compared with, so that whoever only shows them needs neither the simulation nor the plan.

mod document;
mod score;

pub use document::{
    Basis, GroupPrediction, KneePrediction, Prediction, PromisePrediction, TrialPrediction,
};
pub use score::{PromiseScore, Score, TrialScore, score, share_error};
