//! The statistics of verdicts: cumulative counters on one clock, batch means within a repeat, and the
//! scatter between repeats with its degrees of freedom.
//!
//! A pure crate. Sources and formulas stand at each module; docs/judging.md explains to users how they
//! make a verdict.

pub mod batches;
pub mod correlation_time;
mod estimate;
pub mod grid;
mod interval;
pub mod jain;
mod mean;
pub mod over_repeats;
pub mod poisson;
pub mod pooled;
pub mod progress;
pub mod proportion;
pub mod resolution;
mod scatter;
pub mod series;
pub mod spans;
pub mod student;
pub mod unbounded;
pub mod warm_up;
pub mod water_fill;
mod within;

pub use grid::Grid;
pub use interval::Interval;
pub use series::Series;
