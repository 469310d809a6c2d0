//! The statistics of verdicts: cumulative counters on one clock, and the rule by which the numbers of
//! several starts decide.
//!
//! A pure crate. Sources and formulas stand at each module; docs/judging.md explains to users how they
//! make a verdict.

pub mod grid;
mod interval;
pub mod jain;
pub mod over_repeats;
pub mod progress;
pub mod resolution;
pub mod rule;
pub mod series;
pub mod spans;
pub mod start;
pub mod student;
pub mod unbounded;
pub mod water_fill;

pub use grid::Grid;
pub use interval::Interval;
pub use series::Series;
