//! The documents that Assay writes about runs, as types: `verdict.json`, `compare.json`,
//! `fleet-verdict.json`, `errors.json`, and the answer of `assay exec --quiet-check`. Their field names are a contract with
//! users' scripts.
//!
//! A pure crate without judgement: what shows a document needs neither the statistics nor the rules that
//! made it.

mod comparison;
mod fleet;
mod judgement;
pub mod wording;

pub use assay_stats::Interval;
pub use assay_stats::spans::WorstSpan;
pub use comparison::{
    ComparedRun, Equivalence, Estimated, MeasureComparison, PromiseChange, PromiseState,
    RunComparison, RunDifference, TrialComparison,
};
pub use fleet::{
    Differs, Extreme, FleetComparison, FleetGroup, FleetHost, FleetJudgement, FleetPromise,
    FleetTrial, HostDifference, HostVerdict, PromiseOnHost, Spread,
};
pub use judgement::{
    Cause, Check, ComparisonJudgement, Fact, Figure, GroupJudgement, Judgement, LevelJudgement,
    Observation, PairJudgement, PromiseJudgement, Proof, ProofState, ReferenceJudgement, RunErrors,
    Soundness, SpansJudgement, Strength, TrialJudgement, Validity, Verdict, WorkloadMetrics,
};
